"""Makes a feed from its bytes. Nothing is fetched: feedparser gets a stream, never an address."""

import io
import re
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import FeedKind, ParsedFeed
from fascicle.domain.plain_text import storable
from fascicle.domain.urls import place
from fascicle.domain.xml_limits import has_endless_tag
from fascicle.sites.feeds.document import FEED_ROOTS, PAGE_ROOTS, decoded, prepared, without_prefix
from fascicle.sites.feeds.json_feed import is_json_feed, json_feed, loaded
from fascicle.sites.feeds.keys import as_episode, is_empty, with_keys
from fascicle.sites.feeds.not_a_feed import not_a_feed
from fascicle.sites.feeds.thinning import thinned
from fascicle.sites.feeds.xml_feed import podcast_guid, xml_feed

_HEADERS = {"content-type": "application/xml; charset=utf-8"}
_BLANKS = "\ufeff \t\r\n"
_FIRST_ENTRY = re.compile(r"<(?:item|entry)[\s>]")
_ITUNES_TAG = re.compile(r"<itunes:[a-z]")


def parse_feed(
    body: bytes,
    *,
    url: str,
    content_type: str | None = None,
    max_entries: int = 5000,
    now: datetime | None = None,
) -> ParsedFeed:
    """The feed at `url`; a PermanentError says what it is instead of one."""
    text = decoded(body, content_type)
    moment = now or datetime.now(UTC)
    if text.lstrip(_BLANKS)[:1] in ("{", "["):
        return _from_json(text, url, moment, max_entries)
    return _from_xml(text, url, moment, max_entries)


def _from_json(text: str, url: str, now: datetime, most: int) -> ParsedFeed:
    document = loaded(text.lstrip(_BLANKS))
    if not is_json_feed(document):
        raise not_a_feed(text, url)
    return _finished(json_feed(document, url=url, now=now, most=most))


def _from_xml(text: str, url: str, now: datetime, most: int) -> ParsedFeed:
    root, whole = prepared(text)
    if "<" not in text or root in PAGE_ROOTS:
        raise not_a_feed(text, url)
    if has_endless_tag(whole):
        raise PermanentError("not_a_feed", f"{place(url)} answered XML with a tag of hundreds of attributes.")
    document, dropped = thinned(whole, most, now)
    found = _best_reading(document)
    if not found["entries"] and not (root in FEED_ROOTS and found.get("version")):
        raise not_a_feed(text, url)
    try:
        feed = xml_feed(found, itunes=_has_itunes(document), url=url, now=now, most=most)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise PermanentError(
            "not_a_feed", f"{place(url)} answered a feed that makes no sense: {error!r}."
        ) from error
    whole_feed = feed.model_copy(update={"entries_total": feed.entries_total + dropped})
    return _finished(whole_feed, podcast=podcast_guid(found["feed"]))


def _finished(read: ParsedFeed, *, podcast: str | None = None) -> ParsedFeed:
    """The feed with keys; each episode of a podcast with an id that all the podcast's mirrors share."""
    feed: ParsedFeed = _storable(read)
    entries = with_keys(feed.entries)
    if podcast and feed.kind is not FeedKind.YOUTUBE:
        entries = [as_episode(entry, podcast) for entry in entries]
    return feed.model_copy(update={"entries": entries, "skipped": sum(map(is_empty, feed.entries))})


def _storable(value: Any) -> Any:
    """The value with all strings changed so that JSON and the database accept them."""
    if isinstance(value, str):
        clean = storable(value)
        return value if clean == value else clean  # a StrEnum stays one
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _storable(part) for name, part in value})
    return value


def _best_reading(document: str) -> dict[str, Any]:
    """Some feeds put a namespace prefix on all their elements; without it, feedparser may find more."""
    found = _read(document)
    if found["entries"] or not (repaired := without_prefix(document)):
        return found
    again = _read(repaired)
    return again if again["entries"] else found


def _read(document: str) -> dict[str, Any]:
    """Feedparser's result. It raises an error for some garbage; then the result is empty."""
    import feedparser  # imported here, because the worker itself never needs it

    stream = io.BytesIO(document.encode("utf-8", "replace"))
    try:
        found: dict[str, Any] = feedparser.parse(
            stream, response_headers=_HEADERS, resolve_relative_uris=False, sanitize_html=False
        )
    except MemoryError:
        raise
    except Exception:
        return {"feed": {}, "entries": [], "version": ""}
    return found


def _has_itunes(document: str) -> bool:
    first = _FIRST_ENTRY.search(document)
    return bool(_ITUNES_TAG.search(document, 0, first.start() if first else len(document)))
