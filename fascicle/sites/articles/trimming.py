"""Removes lines of a page's main text that are not its author's: notices, dates, links to other articles."""

import re

from fascicle.domain.summaries.article import length_in_words
from fascicle.sites.articles.markup import Links, key_of
from fascicle.sites.articles.notices import BYLINE, DATE_WORD, NOTICE, RELATED

# Titles, dates and bylines are among so many lines at the beginning.
_HEAD = 6
_LONGEST_NOTICE = 14
_LONGEST_DATE = 12
_SHORTEST_REPEATED = 15
_TOP = 5
_WORDS_OF_PROSE = 20
_RELATED_SHARE = 0.5
# Lists of links after this part of a text lead to other pages; before it, they may be the text's subject.
_LAST_PART = 0.6

_TITLE_BAR = re.compile(r"\s+[|–—-]\s+")
_BETWEEN_WORDS = re.compile(r"[\s,;|/()\[\]–—•·-]+")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]」』]*$")


def trimmed(lines: list[str], links: Links, *, title: str, author: str | None = None) -> list[str]:
    """The author's own lines, in their order."""
    kept = [line for line in lines if not _is_notice(line) and not _is_related(line, links)]
    kept = _without_head(_each_once(kept), links, title, author)
    return _without_tail(_without_link_lists(kept, links), links)


def is_prose(line: str) -> bool:
    return _SENTENCE_END.search(line) is not None and length_in_words(line) >= _WORDS_OF_PROSE


def _without_head(lines: list[str], links: Links, title: str, author: str | None) -> list[str]:
    """Remove the title, dates and names before the text, in any order."""
    names = {key_of(title)} | {key_of(part) for part in _TITLE_BAR.split(title)}
    head = [
        line
        for line in lines[:_HEAD]
        if not (_is_title(line, names) or _is_date(line) or _is_byline(line, author))
    ]
    rest = head + lines[_HEAD:]
    while len(rest) > 1 and _is_link(rest[0], links):
        rest.pop(0)
    return rest


def _without_link_lists(lines: list[str], links: Links) -> list[str]:
    """Remove adjacent lines of links towards the end: they are not the author's."""
    is_link = [False, *(_is_link(line, links) for line in lines), False]
    late = len(lines) * _LAST_PART
    return [
        line
        for at, line in enumerate(lines, start=1)
        if not (at > late and is_link[at] and (is_link[at - 1] or is_link[at + 1]))
    ]


def _without_tail(lines: list[str], links: Links) -> list[str]:
    """Remove the links to other pages at the end, with the heading above them."""
    rest = list(lines)
    while len(rest) > 1 and _is_tail(rest[-1], links):
        rest.pop()
    return rest


def _is_tail(line: str, links: Links) -> bool:
    return _is_link(line, links) or key_of(line) in links.headings or _is_date(line)


def _is_link(line: str, links: Links) -> bool:
    """Is the line only a link? A whole sentence does not count, because it may be the author's."""
    return key_of(line) in links.linked and not is_prose(line)


def _is_title(line: str, names: set[str]) -> bool:
    return key_of(line) in names


def _is_date(line: str) -> bool:
    """Is it only a date, perhaps with words such as "updated": at least one digit, and no other word?"""
    words = [word for word in _BETWEEN_WORDS.split(line) if word.strip(".:")]
    if not words or len(words) > _LONGEST_DATE or not any(char.isdigit() for char in line):
        return False
    return all(DATE_WORD.fullmatch(word.strip(":")) for word in words)


def _is_byline(line: str, author: str | None) -> bool:
    if _SENTENCE_END.search(line) or length_in_words(line) > _LONGEST_NOTICE:
        return False
    is_named = bool(author) and key_of(author or "") in key_of(line) and length_in_words(line) <= 8
    return is_named or (BYLINE.fullmatch(line) is not None and length_in_words(line) <= 8)


def _is_notice(line: str) -> bool:
    return length_in_words(line) <= _LONGEST_NOTICE and NOTICE.fullmatch(line) is not None


def _is_related(line: str, links: Links) -> bool:
    """Is it a phrase such as "read also" with a link? Without a link, a longer line is a sentence."""
    if not RELATED.match(line):
        return False
    return links.share.get(key_of(line), 0.0) >= _RELATED_SHARE or length_in_words(line) <= 3


def _each_once(lines: list[str]) -> list[str]:
    """Remove a lead that is shown twice. Further down, the author repeats a line on purpose."""
    leads: set[str] = set()
    kept = []
    for at, line in enumerate(lines):
        if at < _TOP and key_of(line) in leads:
            continue
        kept.append(line)
        if length_in_words(line) >= _SHORTEST_REPEATED:
            leads.add(key_of(line))
    return kept
