"""Shortens endless feeds before they are parsed: a parser would take a minute for unneeded entries."""

import re
from datetime import datetime

from fascicle.sites.feeds.fields import believable, newest, time_of

_ENTRY = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<((?:[\w.-]+:)?(?:item|entry))[\s>]", re.DOTALL | re.IGNORECASE
)
_CLOSING = re.compile(r"</(?:[\w.-]+:)?(?:item|entry)\s*>", re.IGNORECASE)
_PUBLISHED = re.compile(r"<(?:pubDate|published|issued|dc:date)>([^<]{1,60})<", re.IGNORECASE)
_UPDATED = re.compile(r"<(?:updated|modified)>([^<]{1,60})<", re.IGNORECASE)


def thinned(document: str, most: int, now: datetime) -> tuple[str, int]:
    """The document with its newest entries only, and the number of removed entries."""
    starts = _starts(document)
    if len(starts) <= most:
        return document, 0
    end = _end(document, starts[-1])
    entries = [document[start:next_] for start, next_ in zip(starts, [*starts[1:], end], strict=True)]
    kept = newest(entries, most, lambda entry: _time(entry, now))
    return document[: starts[0]] + "".join(kept) + document[end:], len(entries) - most


def _starts(document: str) -> list[int]:
    """The positions where entries begin: elements of one name, outside CDATA."""
    found = [match for match in _ENTRY.finditer(document) if match[1]]
    return [match.start() for match in found if match[1] == found[0][1]]


def _end(document: str, last: int) -> int:
    """The position after the last entry; the end of the document if the entry is cut off."""
    closings = list(_CLOSING.finditer(document, last))
    return closings[-1].end() if closings else len(document)


def _time(entry: str, now: datetime) -> datetime | None:
    written = _PUBLISHED.search(entry) or _UPDATED.search(entry)
    return believable(time_of(written[1]), now) if written else None
