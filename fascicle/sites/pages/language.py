"""The language of a text, worked out from its letters: for items where nobody says it."""

import functools
import threading
from typing import Any

from fascicle.domain.item_words import count_words

# With less, or less sure, it is a guess; four Chinese characters carry about as much as one word.
_FEWEST_WORDS = 20
_SUREST = 0.8
# More does not make it surer.
_ENOUGH = 5_000
# "No linguistic content".
_NONE = "zxx"
_one_at_a_time = threading.Lock()


def language_of(text: str) -> str | None:
    """An ISO 639 code, or None when unsure. Blocks: call in a thread.

    The first call loads a model that takes a second and 100 MB of memory; there is none where feeds and pages
    declare their languages.
    """
    words = count_words(text[:_ENOUGH])
    if words.spaced + words.cjk // 2 < _FEWEST_WORDS:
        return None
    with _one_at_a_time:
        language, probability = _identifier().classify(text[:_ENOUGH])
    return str(language) if probability >= _SUREST and language != _NONE else None


@functools.cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
