"""A summary without a model: the article's own sentences, chosen by counting, and labelled as such (R4)."""

import re
from collections import Counter

from fascicle.domain.feeds.item_words import (
    count_words,
    extractive_summary,
    lead_of,
    reading_minutes,
    sentences,
    shortened,
    telling_sentences,
)
from fascicle.domain.summaries.grammar_words import GRAMMAR_WORDS
from fascicle.domain.summaries.summary import Draft, Entity, EntityKind, Summary

_ENOUGH = 60_000
_IDEAS = 5
_TAGS = 8
_ENTITIES = 10
_WORD = re.compile(r"[^\W\d_]{4,30}")
_CJK_RUN = re.compile("[\u30a0-\u30ff]{3,12}|[\u4e00-\u9fff]{2,6}")
# Two capitalised words or more within a sentence: in most languages a name.
_NAME = re.compile(
    r"(?<=[\w,;] )(?:[A-ZÀ-ÖØ-Þ][\w’'-]+)(?: (?:[A-ZÀ-ÖØ-Þ][\w’'-]+|of|de|von|van|del|di|la)){0,3}"
    r" [A-ZÀ-ÖØ-Þ][\w’'-]+"
)
_RUN = re.compile(r"\S+")
_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)


def extractive(title: str, text: str, language: str | None) -> Summary:
    """Always possible, always the same for the same text, and always within the contract."""
    printable = "".join(c if c.isprintable() or c == "\n" else " " for c in text[:_ENOUGH])
    body = _RUN.sub(_without_addresses, printable).strip() or "(no words)"
    words = " ".join(body.split())
    draft = Draft(
        summary_250=extractive_summary(body, 250) or shortened(words, 250),
        summary_1000=extractive_summary(body, 1000) or shortened(words, 1000),
        tldr=lead_of(body, 300) or shortened(words, 300),
        key_ideas=_ideas(body) or [shortened(words, 300)],
        topic_tags=_tags(title, body) or ["text"],
        entities=_entities(body),
        language=language or "und",
    )
    return Summary(**draft.model_dump(), reading_time_minutes=reading_minutes(count_words(text)))


def _without_addresses(run: re.Match[str]) -> str:
    return "" if _ADDRESS.search(run[0]) else run[0]


def _ideas(text: str) -> list[str]:
    return [shortened(sentence, 300) for sentence in telling_sentences(text, _IDEAS)]


def _tags(title: str, text: str) -> list[str]:
    """The words that come most often; those of the title count double."""
    folded = text.lower()
    counted = Counter(word for word in _WORD.findall(folded) if word not in GRAMMAR_WORDS)
    counted.update(_CJK_RUN.findall(text))
    for word in {*_WORD.findall(title.lower()), *_CJK_RUN.findall(title)}:
        if word in counted:
            counted[word] *= 2
    common = [word for word, count in sorted(counted.items(), key=lambda c: (-c[1], c[0])) if count > 1]
    return common[:_TAGS] or sorted(counted, key=lambda word: (-len(word), word))[:3]


def _entities(text: str) -> list[Entity]:
    """The names that come most often. Counting cannot tell what kind of names they are."""
    counted: Counter[str] = Counter()
    for sentence in sentences(text):
        counted.update(" ".join(name.split())[:100] for name in _NAME.findall(sentence))
    names = [name for name, _ in counted.most_common(_ENTITIES)]
    return [Entity(name=name, kind=EntityKind.OTHER) for name in names]
