"""Detects the language of a text from its letters, for items without a declared language."""

import functools
import threading
from collections import Counter
from typing import Any

from fascicle.domain.feeds.item_words import count_words

# With fewer words or less certainty the result is only a guess; two Chinese characters count as one word.
_FEWEST_WORDS = 20
_SUREST = 0.8
# A longer text does not make the result more certain.
_ENOUGH = 5_000
_MOST_PIECES = 30
# Languages so similar that they are mistaken for each other.
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
    """An ISO 639 code, or None if it is not certain. Blocks: call it in a thread.

    The first call loads a model, which takes a second and 100 MB of memory. If feeds and pages declare their
    languages, there is no call.
    """
    if not _is_enough(text[:_ENOUGH]):
        return None
    with _one_at_a_time:
        language, probability = _identifier().classify(text[:_ENOUGH])
    return str(language) if probability >= _SUREST and language != _NONE else None


def agreed_language(text: str, declared: str | None) -> str | None:
    """ISO 639-1: the declared language if the text agrees, else the language of most of the text. Blocks."""
    said = declared if declared is not None and len(declared) == 2 else None
    found = main_language(text)
    if found is None or said is None:
        return found or said
    return said if any({found, said} <= kin for kin in _KIN) else found


def main_language(text: str) -> str | None:
    """The language of most of the text: it may begin with a quotation or a note in another language."""
    shares: Counter[str] = Counter()
    for piece in _pieces(text):
        if language := language_of(piece):
            shares[language] += len(piece)
    return shares.most_common(1)[0][0] if shares else language_of(text)


def _is_enough(text: str) -> bool:
    words = count_words(text)
    return words.spaced + words.cjk // 2 >= _FEWEST_WORDS


def _pieces(text: str) -> list[str]:
    """Samples from the whole text: paragraphs joined until each sample is long enough."""
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
