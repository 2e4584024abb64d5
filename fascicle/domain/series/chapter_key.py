"""Chapter keys (C5): canonical decimal text, except for a source that itself lists both 0.10 and 0.1.

Forms of one number: `raw` is what the site wrote (`045.50`), its `exact form` has no leading zeros and no
empty fraction (`45.50`), its `canonical form` has no trailing zeros either (`45.5`).

Letters and ranges are numbers too: `19a` is sorted and keyed as 19.1, `5.extra` as 5.99, `1-8` as 8. Their
exact form keeps them apart from the 19.1, 5.99 and 8 that the same source may list as well.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol
from urllib.parse import quote

_DECIMAL = re.compile(r"\s*0*(\d{1,12})(?:\.(\d{1,8}))?\s*", re.ASCII)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+", re.ASCII)
# A decimal, perhaps with a letter or a word for what comes after it: 19a, 19.a, 5 extra, 5.extra2.
_PART = r"(\d[\d.,]*?)(?:[\s.,_-]?([a-z])|[\s.,_-]{0,2}(extra|omake|special)[\s.,_-]?(\d{0,3}))?"
_NUMBER = re.compile(
    rf"{_PART}(?:((?:\s?[-~&+]\s?|\sto\s)(?:(?:c|ch|chap|chapter)[\s.]?)?){_PART})?(?:\s?v\d{{1,2}})?",
    re.ASCII,
)
_WORDS = {"extra": "99", "omake": "98", "special": "97"}
_LETTERS = "abcdefghi"  # as in Mihon: they fit one digit; later letters do not change the order
_LONGEST = 40
_LONGEST_VOLUME = 64

# Full-width characters, and the dashes people type for a hyphen.
_ONE_SPELLING: dict[int, int | str] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_ONE_SPELLING |= dict.fromkeys(map(ord, "‐‑‒–—―−"), "-") | {ord("〜"): "~", 0x3000: " ", 0xA0: " "}


class _Numbered(Protocol):
    @property
    def upload_id(self) -> str: ...
    @property
    def number(self) -> str | None: ...
    @property
    def volume(self) -> str | None: ...


@dataclass(frozen=True)
class ChapterNumber:
    """A number as a site wrote it. Two texts are the same chapter of one source if `exact` is the same."""

    exact: str
    canonical: str
    first: str | None = None
    """The canonical form of a range's first chapter; the range itself has the number of its last one."""


def one_spelling(text: str) -> str:
    """Full-width characters as ASCII, every dash as a hyphen."""
    return text.translate(_ONE_SPELLING)


def exact_form(raw: str | None) -> str | None:
    """`045.50` → `45.50`, `45.0` → `45`; None when it is no decimal number."""
    match = _DECIMAL.fullmatch(raw or "")
    if match is None:
        return None
    whole, fraction = match.groups()
    return f"{whole}.{fraction}" if fraction and fraction.strip("0") else whole


def canonical_form(exact: str) -> str:
    return exact.rstrip("0") if "." in exact else exact


def read_number(raw: str | None) -> ChapterNumber | None:
    """Read a number field: a decimal, one with a letter (`19a`), a range (`1-8`); None: no number."""
    exact = exact_form(raw)
    if exact is not None:
        return ChapterNumber(exact, canonical_form(exact))
    text = (raw or "").strip()
    if len(text) > _LONGEST:
        return None
    match = _NUMBER.fullmatch(one_spelling(text).lower())
    if match is None:
        return None
    groups = match.groups()
    head, dash, tail = groups[:4], groups[4], groups[5:]
    if dash is None:
        return _part(*head)
    return _range(_part(*head), _part(*tail)) or _hyphen_for_a_point(head, dash, tail)


def number_of(raw: str | None) -> Decimal | None:
    """The number to sort by. Texts that may compete for one key have the same number."""
    number = read_number(raw)
    return None if number is None else Decimal(number.canonical)


def _part(decimal: str, letter: str | None, word: str | None, which: str | None) -> ChapterNumber | None:
    plain = decimal.replace(",", "") if _THOUSANDS.fullmatch(decimal) else decimal.replace(",", ".")
    exact = exact_form(plain)
    if exact is None:
        return None
    fraction = _fraction(letter, word)
    canonical = f"{exact}.{fraction}" if fraction and "." not in exact else canonical_form(exact)
    return ChapterNumber(f"{exact}{letter or word or ''}{which or ''}", canonical)


def _fraction(letter: str | None, word: str | None) -> str | None:
    if word:
        return _WORDS[word]
    return str(_LETTERS.index(letter) + 1) if letter and letter in _LETTERS else None


def _range(first: ChapterNumber | None, last: ChapterNumber | None) -> ChapterNumber | None:
    if first is None or last is None or Decimal(first.canonical) >= Decimal(last.canonical):
        return None
    return ChapterNumber(f"{first.exact}-{last.exact}", last.canonical, first.canonical)


def _hyphen_for_a_point(
    head: tuple[str | None, ...], dash: str, tail: tuple[str | None, ...]
) -> ChapterNumber | None:
    """`24-005`: a range cannot run backwards, so the hyphen stands for the point."""
    if dash != "-" or any(head[1:]) or any(tail[1:]):
        return None
    exact = exact_form(f"{head[0]}.{tail[0]}")
    return None if exact is None else ChapterNumber(exact, canonical_form(exact))


def assign_keys(
    uploads: Iterable[_Numbered], raw_by_key: Mapping[str, str | None], *, per_volume: bool = False
) -> dict[str, str]:
    """Assign keys to uploads that have no chapter key yet (or a new number). Returns the keys by upload id.

    `raw_by_key` must hold the source's stored keys for the numbers concerned, so that the answer does not
    depend on how much of the list was fetched. Volumes enter the key only `per_volume`.
    """
    taken = {key: number.exact if (number := read_number(raw)) else None for key, raw in raw_by_key.items()}
    keys: dict[str, str] = {}
    numbered: list[tuple[ChapterNumber, _Numbered]] = []
    for upload in uploads:
        number = read_number(upload.number)
        if number is None:
            keys[upload.upload_id] = f"x:{upload.upload_id}"
        else:
            numbered.append((number, upload))
    for number, upload in sorted(numbered, key=_plainest_first):
        key = _free_key(_volume_prefix(upload.volume) if per_volume else "", number, taken)
        keys[upload.upload_id] = key
        taken[key] = number.exact
    return keys


def _plainest_first(numbered: tuple[ChapterNumber, _Numbered]) -> tuple[bool, int, str, str]:
    """When 0.1 and 0.10 arrive together, or 19.1 and 19a, the plain key belongs to the plain number."""
    number, upload = numbered
    return number.exact != number.canonical, len(number.exact), number.exact, upload.upload_id


def _volume_prefix(volume: str | None) -> str:
    name = (volume or "").strip()
    if not name:
        return ""
    number = read_number(name)
    return f"v{number.exact if number else quote(name[:_LONGEST_VOLUME], safe='', errors='replace')}:"


def _free_key(prefix: str, number: ChapterNumber, taken: Mapping[str, str | None]) -> str:
    canonical, exact = number.canonical, number.exact
    candidates = (prefix + canonical, prefix + exact, f"{prefix}{canonical}:{exact}")
    # A form keeps the key that it already has; else it gets the first key that no other form holds.
    return next(
        (key for key in candidates if taken.get(key) == exact),
        next((key for key in candidates if key not in taken), candidates[-1]),
    )
