"""Reads a feed for storing, in a parsing process: parses it, then sanitises its entries one by one."""

import time

from fascicle.domain.feeds.feed import Entry, ParsedFeed
from fascicle.domain.feeds.news import content_hash
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.sanitise import plain_html, sanitised_article, would_grow

# The limit for all entries of a document together; further entries are reduced to plain text.
_SANITISING_SECONDS = 10.0
_LONGEST_HTML = 8_000_000
_GROWS = "its HTML would grow beyond measure"
_TOO_MUCH = "the document takes too long or becomes too long"


def read_feed(
    body: bytes, *, url: str, content_type: str | None = None, max_entries: int = 5000, plain: str = ""
) -> ParsedFeed:
    """The feed with harmless HTML. `plain`: the reason to reduce all entries to plain text; empty: none."""
    feed = parse_feed(body, url=url, content_type=content_type, max_entries=max_entries)
    sanitiser = _Sanitiser(plain)
    entries = [sanitiser.harmless(entry) for entry in feed.entries]
    return feed.model_copy(update={"entries": entries, "note": sanitiser.note})


def read_entry(body: bytes) -> Entry:
    """One unsanitised entry as JSON; returns it with harmless HTML."""
    return harmless_entry(Entry.model_validate_json(body))


def harmless_entry(entry: Entry) -> Entry:
    return _Sanitiser().harmless(entry)


class _Sanitiser:
    """Sanitises entries. An entry that cannot be sanitised is reduced to plain text, the others are not."""

    def __init__(self, plain: str = "") -> None:
        self._plain = plain
        self._until = time.process_time() + _SANITISING_SECONDS
        self._left = _LONGEST_HTML
        self._cut: dict[str, int] = {}

    @property
    def note(self) -> str:
        told = (f"{count} entries cut to plain text: {why}" for why, count in self._cut.items())
        return "; ".join(told).replace("1 entries", "1 entry") if self._cut else ""

    def harmless(self, entry: Entry) -> Entry:
        why = self._why_plain(entry)
        if why:
            self._cut[why] = self._cut.get(why, 0) + 1
        clean = plain_html if why else sanitised_article
        summary = clean(entry.summary) if entry.summary else None
        content = clean(entry.content) if entry.content else None
        self._left -= len(summary or "") + len(content or "")
        hashed = entry.content_hash or content_hash(entry)
        return entry.model_copy(update={"summary": summary, "content": content, "content_hash": hashed})

    def _why_plain(self, entry: Entry) -> str:
        if self._plain:
            return self._plain
        if any(would_grow(html) for html in (entry.summary, entry.content) if html):
            return _GROWS
        return _TOO_MUCH if self._left < 0 or time.process_time() > self._until else ""
