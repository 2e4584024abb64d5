"""Atom, and YouTube's variant of it."""

from simulator.feeds.edition import Edition
from simulator.feeds.records import FeedEntry
from simulator.feeds.xml import element, lines, text

_ATOM = "http://www.w3.org/2005/Atom"
_MEDIA = "http://search.yahoo.com/mrss/"
_YOUTUBE = "http://www.youtube.com/xml/schemas/2015"


def atom(edition: Edition) -> str:
    feed = edition.feed
    return element(
        "feed",
        text("id", edition.address),
        text("title", feed.title),
        _link("self", edition.address),
        _link("alternate", edition.home),
        text("updated", edition.updated_at.isoformat()),
        *[_entry(edition, entry) for entry in edition.entries],
        attributes={"xmlns": _ATOM, "xmlns:media": _MEDIA, "xml:lang": feed.language},
    )


def youtube(edition: Edition) -> str:
    feed = edition.feed
    # Channel ids begin with UC; YouTube omits it at the top of the feed.
    short = feed.channel.removeprefix("UC")
    own_id = f"yt:playlist:{feed.playlist_id}" if feed.playlist_id else f"yt:channel:{short}"
    return element(
        "feed",
        _link("self", edition.address),
        text("id", own_id),
        text("yt:playlistId", feed.playlist_id),
        text("yt:channelId", short),
        text("title", feed.title),
        _link("alternate", edition.home),
        _channel_author(edition),
        text("published", feed.created_at.isoformat()),
        *[_video(edition, entry) for entry in edition.entries],
        attributes={"xmlns:yt": _YOUTUBE, "xmlns:media": _MEDIA, "xmlns": _ATOM},
    )


def _entry(edition: Edition, entry: FeedEntry) -> str:
    dated = edition.feed.dated
    return element(
        "entry",
        text("id", edition.guid(entry)),
        text("title", entry.title),
        _link("alternate", edition.link(entry)),
        text("published", entry.published_at.isoformat() if dated else None),
        text("updated", entry.changed_at.isoformat() if dated else None),
        element("author", text("name", entry.author)) if entry.author else "",
        *[element("category", attributes={"term": tag}) for tag in entry.tags],
        element("media:thumbnail", attributes={"url": entry.image}) if entry.image else "",
        text("content", entry.text, {"type": "html"}),
    )


def _video(edition: Edition, entry: FeedEntry) -> str:
    return element(
        "entry",
        text("id", f"yt:video:{entry.video_id}"),
        text("yt:videoId", entry.video_id),
        text("yt:channelId", edition.feed.channel),
        text("title", entry.title),
        _link("alternate", edition.link(entry)),
        _channel_author(edition),
        text("published", entry.published_at.isoformat()),
        text("updated", entry.changed_at.isoformat()),
        element("media:group", _media(edition, entry)),
    )


def _media(edition: Edition, entry: FeedEntry) -> str:
    picture = {"url": edition.picture(entry), "width": "480", "height": "360"}
    player = {
        "url": f"https://www.youtube.com/v/{entry.video_id}?version=3",
        "type": "application/x-shockwave-flash",
        "width": "640",
        "height": "390",
    }
    return lines(
        text("media:title", entry.title),
        element("media:content", attributes=player),
        element("media:thumbnail", attributes=picture),
        text("media:description", entry.text),
    )


def _channel_author(edition: Edition) -> str:
    return element("author", text("name", edition.feed.title), text("uri", edition.home))


def _link(rel: str, address: str) -> str:
    return element("link", attributes={"rel": rel, "href": address})
