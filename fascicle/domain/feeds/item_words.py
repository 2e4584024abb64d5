"""Words of an item: their number, their reading time, and the sentences that tell what it is about (I5)."""

import math
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

WORDS_PER_MINUTE = 230
CJK_CHARACTERS_PER_MINUTE = 500
# The rest of a longer text is not needed to judge it.
_ENOUGH_TO_JUDGE = 20_000
_SHORTEST_SENTENCE = 4
_LONGEST_SENTENCE = 60

# Kana and Han, written without blanks. Hangul has them.
_CJK = re.compile("[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_CLOSING = "\"'”’»)\\]」』"
_SENTENCE_END = re.compile(rf"(?<=[.!?…])([{_CLOSING}]*)\s+|(?<=[。！？])([{_CLOSING}]*)\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[^\W\d_]|mr|mrs|ms|mx|dr|prof|st|vs|no|fig|approx|inc|ltd|co|jr|sr|e\.g|i\.e|cf|al|u\.s|u\.k"
    r"|rep|sen|gov|gen|col|lt|sgt|capt|rev|hon|jan|feb|aug|sept|oct|nov|dec|bzw|z\.b|d\.h|nr|ca|mme|mlle|ing|sra?)\.$",
    re.IGNORECASE,
)
# Phrases that feeds put after the beginning of a text; each is removed from the end.
_INVITATIONS = re.compile(
    r"(?:\s*+[\[(]\s*+more\b"
    r"|(?:(?<=[.!?…\])»”\"\n])|^|(?=\s[A-Z]))\s*+[\[(]?\s*+(?i:continue reading|read more"
    r"|read the (?:full|rest)|read on|keep reading|learn more|weiterlesen|mehr lesen|lire la suite"
    r"|leer más|seguir leyendo|leggi tutto|lees verder|czytaj dalej|続きを読む|阅读更多|阅读全文)\b)"
    r"[^.!?\n]{0,80}(?:\.\.\.)?\s*$"
    r"|\s*\b[Tt]he post .{1,300} appeared first on .{1,100}$",
)
_LONGEST_INVITATION = 500
_OPEN_END = re.compile(r"\s*+[\[(]?\s*+(?:…|\.\.\.|&hellip;)\s*+[\])]?\s*+$")


class WordCount(NamedTuple):
    spaced: int
    """Words between blanks."""
    cjk: int
    """Characters of scripts that have no blanks."""

    @property
    def total(self) -> int:
        """Counted as word processors do: such a character is a word."""
        return self.spaced + self.cjk


def count_words(text: str) -> WordCount:
    cjk = len(_CJK.findall(text))
    spaced = len(_WORD.findall(_CJK.sub(" ", text) if cjk else text))
    return WordCount(spaced, cjk)


def reading_minutes(words: WordCount) -> int:
    return max(1, round(words.spaced / WORDS_PER_MINUTE + words.cjk / CJK_CHARACTERS_PER_MINUTE))


def lead_of(text: str, longest: int = 280) -> str:
    """The first sentences of a text, cut at a sentence's end or, if the first is too long, at a word."""
    start, is_open = _without_invitation(text[: _ENOUGH_TO_JUDGE // 4].rstrip())
    pieces = sentences(start)
    lead = ""
    while pieces and len(joined := _joined(lead, pieces[0])) <= longest:
        lead = joined
        pieces.pop(0)
    if not lead:
        return shortened(" ".join(start.split()), longest)
    return f"{lead}…" if is_open and not pieces and len(lead) < longest else lead


def extractive_summary(text: str, longest: int = 600) -> str:
    """The sentences with the most frequent words, in their order. A text always gets the same summary."""
    candidates = _fit_for_a_summary(text)
    chosen: list[int] = []
    length = 0
    for index in _most_telling_first(candidates):
        if length + len(candidates[index]) + 1 <= longest:
            chosen.append(index)
            length += len(candidates[index]) + 1
    if not chosen:
        return lead_of(text, longest)
    summary = ""
    for index in sorted(chosen):
        summary = _joined(summary, candidates[index])
    return summary


def telling_sentences(text: str, most: int) -> list[str]:
    """The `most` sentences with the most frequent words, in their order."""
    candidates = _fit_for_a_summary(text)
    return [candidates[index] for index in sorted(_most_telling_first(candidates)[:most])]


def _most_telling_first(candidates: list[str]) -> list[int]:
    terms = [_terms(sentence) for sentence in candidates]
    weights = _weights(terms)
    # The first sentence often says what a text is about, so it weighs more.
    return sorted(
        range(len(candidates)),
        key=lambda i: (-_score(terms[i], weights) * (1.5 if i == 0 else 1.0), i),
    )


def sentences(text: str) -> list[str]:
    """The end of a paragraph ends a sentence too; an abbreviation does not."""
    found: list[str] = []
    for paragraph in text.splitlines():
        found += _sentences_of(" ".join(paragraph.split()))
    return found


def _sentences_of(paragraph: str) -> list[str]:
    found: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        stop = end.end(1) if end.group(1) is not None else end.end(2)
        following = paragraph[end.end() : end.end() + 1]
        if following.islower() or _ABBREVIATION.search(paragraph[max(start, end.start() - 12) : end.start()]):
            continue
        found.append(paragraph[start:stop])
        start = end.end()
    return [sentence for sentence in (*found, paragraph[start:]) if sentence.strip()]


def _without_invitation(text: str) -> tuple[str, bool]:
    """The text without such phrases at its end, and whether it was cut off there."""
    head, text = text[:-_LONGEST_INVITATION], text[-_LONGEST_INVITATION:].rstrip()
    is_open = False
    for _ in range(4):
        shorter = _INVITATIONS.sub("", text)
        closed = _OPEN_END.sub("", shorter)
        is_open = is_open or closed != shorter
        if closed == text:
            break
        text = closed
    return head + text, is_open


def _joined(lead: str, piece: str) -> str:
    if not lead:
        return piece
    return lead + ("" if _CJK.match(piece) or lead[-1] in "。！？」』" else " ") + piece


def shortened(text: str, longest: int) -> str:
    """Cut at a word, with an ellipsis; never longer than `longest`."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1]
    blank = head.rfind(" ")
    # A text without blanks is cut anywhere.
    return (head[:blank] if blank > longest // 2 else head).rstrip(" ,;:–—-") + "…"


def _fit_for_a_summary(text: str) -> list[str]:
    """Each sentence once, without headings and endless lists."""
    seen: dict[str, None] = {}
    for sentence in sentences(text[:_ENOUGH_TO_JUDGE]):
        words = count_words(sentence)
        length = words.spaced + words.cjk // 3
        if _SHORTEST_SENTENCE <= length <= _LONGEST_SENTENCE and sentence[-1] in f".!?…。！？{_CLOSING}":
            seen.setdefault(sentence)
    return list(seen)


def _terms(sentence: str) -> set[str]:
    """Words long enough to mean something; pairs of characters in scripts without blanks."""
    words = {word for word in _WORD.findall(_CJK.sub(" ", sentence).lower()) if len(word) > 3}
    characters = _CJK.findall(sentence)
    return words | {first + second for first, second in pairwise(characters)}


def _weights(terms: list[set[str]]) -> dict[str, int]:
    """The number of sentences with a term. A term that most sentences have is grammar and gets no weight."""
    counted = Counter(term for sentence in terms for term in sentence)
    too_common = max(3, len(terms) // 2)
    return {term: count for term, count in counted.items() if 1 < count <= too_common}


def _score(terms: set[str], weights: dict[str, int]) -> float:
    # Divided by the root of the length, so that neither short nor long sentences win by their length alone.
    return sum(weights.get(term, 0) for term in terms) / math.sqrt(len(terms) or 1)
