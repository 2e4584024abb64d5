"""The language of a text, worked out from its letters: for items where nobody says it."""

import functools
import threading
from collections import Counter
from typing import Any

from fascicle.domain.item_words import count_words

# With less, or less sure, it is a guess; four Chinese characters carry about as much as one word.
_FEWEST_WORDS = 20
_SUREST = 0.8
# More does not make it surer.
_ENOUGH = 5_000
_MOST_PIECES = 30
# Near enough to be taken for each other.
_KIN = (
    frozenset({"no", "nb", "nn", "da"}),
    frozenset({"hr", "bs", "sr", "sh"}),
    frozenset({"id", "ms"}),
    frozenset({"cs", "sk"}),
    frozenset({"gl", "pt"}),
)
# "No linguistic content".
_NONE = "zxx"
_one_at_a_time = threading.Lock()


def language_of(text: str) -> str | None:
    """An ISO 639 code, or None when unsure. Blocks: call in a thread.

    The first call loads a model that takes a second and 100 MB of memory; there is none where feeds and pages
    declare their languages.
    """
    if not _is_enough(text[:_ENOUGH]):
        return None
    with _one_at_a_time:
        language, probability = _identifier().classify(text[:_ENOUGH])
    return str(language) if probability >= _SUREST and language != _NONE else None


def agreed_language(text: str, declared: str | None) -> str | None:
    """ISO 639-1: what the page declares if its text agrees, else what most of the text is in. Blocks."""
    said = declared if declared is not None and len(declared) == 2 else None
    found = main_language(text)
    if found is None or said is None:
        return found or said
    return said if any({found, said} <= kin for kin in _KIN) else found


def main_language(text: str) -> str | None:
    """The language of the greater part: a quotation, or a note in another, may stand first."""
    shares: Counter[str] = Counter()
    for piece in _pieces(text):
        if language := language_of(piece):
            shares[language] += len(piece)
    return shares.most_common(1)[0][0] if shares else language_of(text)


def _is_enough(text: str) -> bool:
    words = count_words(text)
    return words.spaced + words.cjk // 2 >= _FEWEST_WORDS


def _pieces(text: str) -> list[str]:
    """Paragraphs, put together until there is enough to judge, from all over the text."""
    pieces, piece = [], ""
    for line in text.splitlines():
        piece += f"{line}\n"
        if _is_enough(piece):
            pieces.append(piece[:_ENOUGH])
            piece = ""
    pieces.append(piece)
    return pieces[:: max(1, len(pieces) // _MOST_PIECES)]


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
