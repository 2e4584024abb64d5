"""A feed's document, in its format and with its configured flaws."""

from collections.abc import Callable

import orjson

from simulator.feeds.atom import atom, youtube
from simulator.feeds.edition import Edition
from simulator.feeds.records import FeedEntry, Format
from simulator.feeds.rss import podcast, rdf, rss091, rss20

_XML: dict[Format, Callable[[Edition], str]] = {
    "rss20": rss20,
    "rss091": rss091,
    "rdf": rdf,
    "atom": atom,
    "youtube": youtube,
    "podcast": podcast,
}
CONTENT_TYPES: dict[Format, str] = {
    "rss20": "application/rss+xml",
    "rss091": "text/xml",
    "rdf": "application/rdf+xml",
    "atom": "application/atom+xml",
    "json": "application/feed+json",
    "youtube": "text/xml; charset=UTF-8",
    "podcast": "application/rss+xml",
}


def document(edition: Edition) -> bytes:
    feed = edition.feed
    if feed.raw is not None:
        written = feed.raw
    elif feed.format == "json":
        written = feed.junk + _json(edition)
    else:
        written = feed.junk + _declaration(edition) + _XML[feed.format](edition) + "\n"
    encoded = written.encode(feed.encoding, "xmlcharrefreplace")
    # Both XML and JSON allow spaces after the end.
    return encoded.ljust(feed.body_bytes or 0)


def _declaration(edition: Edition) -> str:
    feed = edition.feed
    encoding = feed.encoding if feed.declared_encoding is None else feed.declared_encoding
    return f'<?xml version="1.0" encoding="{encoding}"?>\n' if encoding else '<?xml version="1.0"?>\n'


def _json(edition: Edition) -> str:
    feed = edition.feed
    content = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        "home_page_url": edition.home,
        "feed_url": edition.address,
        "language": feed.language,
        "items": [_json_item(edition, entry) for entry in edition.entries],
    }
    return orjson.dumps(content).decode()


def _json_item(edition: Edition, entry: FeedEntry) -> dict[str, object]:
    updated = entry.updated_at
    dated = edition.feed.dated
    item = {
        "id": edition.guid(entry),
        "url": edition.link(entry),
        "title": entry.title,
        "content_html": entry.text,
        "date_published": entry.published_at.isoformat() if dated else None,
        "date_modified": updated.isoformat() if updated and dated else None,
        "authors": [{"name": entry.author}] if entry.author else None,
        "image": entry.image,
        "tags": list(entry.tags) or None,
        "attachments": [{"url": entry.audio, "mime_type": "audio/mpeg"}] if entry.audio else None,
    }
    return {name: value for name, value in item.items() if value is not None}
