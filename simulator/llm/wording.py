"""Words and sentences of a text, in an endless cycle: the model's answers are made of them."""

import re
from collections.abc import Iterator
from itertools import cycle

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD = re.compile(r"[^\W\d_]{4,}")
_SMALL_WORDS = {
    "en": {"the", "and", "of", "was", "to", "that", "is"},
    "de": {"der", "die", "und", "das", "nicht", "ist", "den"},
    "fr": {"le", "les", "et", "des", "une", "dans", "est"},
}
FEWEST_WORDS = 4
NOTHING = "There is nothing here that could be told in other words."


class Wording:
    """Deterministic: the same text always gives the same words."""

    def __init__(self, text: str) -> None:
        found = [part.strip() for part in _SENTENCE_END.split(text)]
        sentences = [part for part in found if len(part.split()) >= FEWEST_WORDS]
        self._sentences: Iterator[str] = cycle(dict.fromkeys(sentences) or [NOTHING])
        self._words: Iterator[str] = cycle(dict.fromkeys(_WORD.findall(text)) or _WORD.findall(NOTHING))
        self._all_words = text.lower().split()

    def sentence(self) -> str:
        return next(self._sentences)

    def word(self) -> str:
        return next(self._words)

    def sentences(self, characters: int) -> str:
        """At least `characters` characters, in whole sentences."""
        told = self.sentence()
        while len(told) < characters:
            told += f" {self.sentence()}"
        return told

    @property
    def language(self) -> str:
        """The likeliest of the known languages; English if no word matches."""
        counts = {
            code: sum(word in small for word in self._all_words) for code, small in _SMALL_WORDS.items()
        }
        return max(counts, key=counts.__getitem__)

    @property
    def reading_minutes(self) -> int:
        return max(1, len(self._all_words) // 200)
