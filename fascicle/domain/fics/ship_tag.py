"""Relationship tags as people write them: the people, how they are joined (`/` or `&`), and qualifiers."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

# Each qualifier with its synonyms.
QUALIFIERS: Mapping[str, tuple[str, ...]] = {
    "past": ("previous", "previously"),
    "former": ("formerly",),
    "ex": ("exes",),
    "minor": ("side", "slight", "slightly", "brief", "briefly"),
    "background": ("bg",),
    "implied": ("implications",),
    "referenced": ("reference", "references"),
    "mentioned": ("mention", "mentions"),
    "one-sided": (),
    "unrequited": (),
    "hinted": ("hint", "hints"),
    "pre": (),
    "eventual": ("eventually",),
    "established": (),
    "endgame": (),
    "main": (),
}
# Words that may stand between qualifiers without meaning anything themselves.
_FILLERS = frozenset(
    {"and", "or", "of", "&", "very", "some", "only", "just"}
    | {"relationship", "relationships", "pairing", "pairings", "ship", "ships", "slash", "romance"}
)
_NOTHING_SAID = frozenset({"freeform", "relationship"})
_SLASHES = str.maketrans({"⁄": "/", "∕": "/", "⧸": "/", "’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-"})
_INVISIBLE = frozenset({"Cf", "Cc"})
_LAST_BRACKETS = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$")
_LAST_DASH = re.compile(r"\s+[-–—]\s*([^-–—]*)$|,\s*([^,]*)$")
_JOINTS = re.compile(r"[\s-]+")
_BLANKS = re.compile(r"\s+")
_BETWEEN_PIECES = re.compile(r"[,;:/]")
_HYPHENATED = re.compile(r"(\w+)-\s*(?=\w)")
_BETWEEN_WORDS = re.compile(r"[\s,;:/]+")


@dataclass(frozen=True)
class ShipTag:
    """`groups` holds, for each part between `&`, the people joined by `/`; a person is a set of names."""

    text: str
    groups: tuple[tuple[frozenset[str], ...], ...]
    qualifiers: frozenset[str]

    @property
    def is_pairing(self) -> bool:
        return any(len(group) > 1 for group in self.groups)

    @property
    def people(self) -> tuple[frozenset[str], ...]:
        return tuple(person for group in self.groups for person in group)


def folded(text: str) -> str:
    """A form in which two spellings of one name are the same."""
    plain = unicodedata.normalize("NFKC", text).translate(_SLASHES)
    seen = "".join(c for c in plain if unicodedata.category(c) not in _INVISIBLE or c.isspace())
    return unicodedata.normalize("NFKC", " ".join(seen.split()).casefold())


def parse_tag(text: str, more_qualifiers: Collection[str] = ()) -> ShipTag:
    """`more_qualifiers` are words that count as qualifiers beside the known ones."""
    words = _vocabulary(tuple(more_qualifiers))
    core, qualifiers = _without_endings(_with_compounds_joined(folded(text), words), words)
    core, said_before = _without_beginning(core, words)
    qualifiers |= said_before
    groups = []
    for part in core.split("&"):
        people = []
        for person in part.split("/"):
            name, said = _without_endings(person, words)
            qualifiers |= said
            people.append(frozenset(alias.strip() for alias in name.split("|")) - {""})
        groups.append(tuple(person for person in people if person))
    return ShipTag(text=core, groups=tuple(groups), qualifiers=frozenset(qualifiers))


def qualifier_name(word: str) -> str:
    """Our name for a qualifier such as `previous` or `One Sided`; an unknown word is its own name."""
    return _vocabulary(())[key] if (key := _key(word)) in _vocabulary(()) else word


def _key(word: str) -> str:
    return _JOINTS.sub("", folded(word))


@lru_cache(maxsize=256)
def _vocabulary(more: tuple[str, ...]) -> dict[str, str]:
    """From every form of every qualifier to its name."""
    known = {_key(form): name for name, forms in QUALIFIERS.items() for form in (name, *forms)}
    return {_key(word): word for word in more} | known


def _with_compounds_joined(text: str, words: Mapping[str, str]) -> str:
    """`one sided` as `one-sided`, so that it is one word."""
    for name in {name for name in words.values() if _JOINTS.search(name)}:
        parts = _JOINTS.split(folded(name))
        spellings = r"[\s-]*".join(map(re.escape, parts))
        text = re.sub(rf"\b{spellings}\b", "-".join(parts), text)
    return text


def _without_endings(text: str, words: Mapping[str, str]) -> tuple[str, set[str]]:
    """Without `(past)`, `[minor]`, `- Freeform`, `, mentioned` at the end."""
    found: set[str] = set()
    while True:
        match = _LAST_BRACKETS.search(text) or _LAST_DASH.search(text)
        said = next((part for part in match.groups() if part is not None), "") if match else ""
        named = _qualifiers_in(said, words)
        if match is None or not (named or said in _NOTHING_SAID):
            return text.strip(), found
        found |= named
        text = text[: match.start()]


def _qualifiers_in(said: str, words: Mapping[str, str]) -> set[str]:
    """Empty unless all of it is qualifiers and fillers."""
    parts = [part for part in _BETWEEN_WORDS.split(said) if part]
    known = [_meaning(part, words) for part in parts]
    if (joined := _key(said)) in words:
        return {words[joined]}
    return set() if None in known else {name for names in known if names for name in names}


def _without_beginning(text: str, words: Mapping[str, str]) -> tuple[str, set[str]]:
    """Without `Past`, `implied/referenced`, `pre-`, `mentions of` at the beginning."""
    found: set[str] = set()
    rest = text
    for start, following in pairwise([0, *(match.end() for match in _BLANKS.finditer(text))]):
        pieces = [piece for piece in _BETWEEN_PIECES.split(text[start:following].strip()) if piece]
        meanings = [_meaning(piece, words) for piece in pieces]
        if None in meanings:
            break
        found |= {name for names in meanings if names for name in names}
        rest = text[following:] if found else text
    hyphenated = _HYPHENATED.match(rest)
    if hyphenated and hyphenated[1] in words:
        return rest[hyphenated.end() :], found | {words[hyphenated[1]]}
    return rest, found


def _meaning(word: str, words: Mapping[str, str]) -> set[str] | None:
    """The qualifiers a word stands for: none for a filler, None for any other word."""
    if word in _FILLERS:
        return set()
    if (key := _key(word)) in words:
        return {words[key]}
    parts = [part for part in word.split("-") if part]
    if len(parts) < 2 or not all(part in words or part in _FILLERS for part in parts):
        return None
    return {words[part] for part in parts if part in words}
