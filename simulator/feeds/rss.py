"""RSS 2.0 and 0.91, podcasts, and RSS 1.0, which is RDF."""

from datetime import datetime
from email.utils import format_datetime

from simulator.feeds.edition import Edition
from simulator.feeds.records import FeedEntry
from simulator.feeds.xml import element, lines, text
from simulator.ids import derived_id

_RSS_NAMESPACES = {
    "xmlns:atom": "http://www.w3.org/2005/Atom",
    "xmlns:dc": "http://purl.org/dc/elements/1.1/",
    "xmlns:media": "http://search.yahoo.com/mrss/",
}
_PODCAST_NAMESPACES = {
    "xmlns:itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "xmlns:podcast": "https://podcastindex.org/namespace/1.0",
}
_RDF_NAMESPACES = {
    "xmlns": "http://purl.org/rss/1.0/",
    "xmlns:rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "xmlns:dc": "http://purl.org/dc/elements/1.1/",
}


def rss20(edition: Edition) -> str:
    items = [element("item", _item(edition, entry)) for entry in edition.entries]
    channel = element("channel", _channel(edition), *items)
    return element("rss", channel, attributes={"version": "2.0", **_RSS_NAMESPACES})


def podcast(edition: Edition) -> str:
    items = [element("item", _item(edition, entry), _episode(edition, entry)) for entry in edition.entries]
    channel = element("channel", _channel(edition), _show(edition), *items)
    return element("rss", channel, attributes={"version": "2.0", **_RSS_NAMESPACES, **_PODCAST_NAMESPACES})


def rss091(edition: Edition) -> str:
    """RSS 0.91 has neither ids nor dates."""
    items = [element("item", _headline(edition, entry)) for entry in edition.entries]
    channel = element("channel", _heading(edition), text("language", edition.feed.language), *items)
    return element("rss", channel, attributes={"version": "0.91"})


def rdf(edition: Edition) -> str:
    names = [edition.guid(entry) or edition.link(entry) for entry in edition.entries]
    contents = element("rdf:Seq", *[element("rdf:li", attributes={"rdf:resource": name}) for name in names])
    channel = element(
        "channel",
        _heading(edition),
        text("dc:language", edition.feed.language),
        element("items", contents),
        attributes={"rdf:about": edition.address},
    )
    pairs = zip(edition.entries, names, strict=True)
    items = [
        element("item", _rdf_item(edition, entry), attributes={"rdf:about": name}) for entry, name in pairs
    ]
    return element("rdf:RDF", channel, *items, attributes=_RDF_NAMESPACES)


def _heading(edition: Edition) -> str:
    title = edition.feed.title
    return lines(text("title", title), text("link", edition.home), text("description", f"All about {title}."))


def _channel(edition: Edition) -> str:
    feed = edition.feed
    return lines(
        _heading(edition),
        text("language", feed.language),
        text("lastBuildDate", _date(edition.updated_at)),
        text("ttl", None if feed.ttl_minutes is None else str(feed.ttl_minutes)),
        element(
            "atom:link",
            attributes={"rel": "self", "type": "application/rss+xml", "href": edition.address},
        ),
    )


def _headline(edition: Edition, entry: FeedEntry) -> str:
    return lines(
        text("title", entry.title), text("link", edition.link(entry)), text("description", entry.text)
    )


def _item(edition: Edition, entry: FeedEntry) -> str:
    permanent = "true" if edition.feed.guid == "link" else "false"
    dated = edition.feed.dated
    return lines(
        _headline(edition, entry),
        text("guid", edition.guid(entry), {"isPermaLink": permanent}),
        text("pubDate", _date(entry.published_at) if dated else None),
        text("atom:updated", entry.updated_at.isoformat() if entry.updated_at and dated else None),
        text("dc:creator", entry.author or None),
        *[text("category", tag) for tag in entry.tags],
        element("media:thumbnail", attributes={"url": entry.image}) if entry.image else "",
    )


def _show(edition: Edition) -> str:
    feed = edition.feed
    return lines(
        text("podcast:guid", feed.podcast_guid or derived_id("podcast", feed.name)),
        text("itunes:new-feed-url", feed.new_feed_url),
        element("itunes:category", attributes={"text": "Arts"}),
        text("itunes:explicit", "false"),
    )


def _episode(edition: Edition, entry: FeedEntry) -> str:
    sound = {"url": edition.audio(entry), "length": "123456", "type": "audio/mpeg"}
    return lines(
        element("enclosure", attributes=sound),
        text("itunes:duration", None if entry.duration is None else str(entry.duration)),
        element("itunes:image", attributes={"href": entry.image}) if entry.image else "",
    )


def _rdf_item(edition: Edition, entry: FeedEntry) -> str:
    return lines(
        _headline(edition, entry),
        text("dc:creator", entry.author or None),
        text("dc:date", entry.changed_at.isoformat() if edition.feed.dated else None),
        *[text("dc:subject", tag) for tag in entry.tags],
    )


def _date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)
