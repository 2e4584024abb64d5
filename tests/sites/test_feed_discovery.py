"""I1: feeds of pages and of YouTube, and how long a site asks to be left alone."""

from datetime import UTC, datetime

import pytest

from fascicle.sites.feeds.caching import patience_seconds
from fascicle.sites.feeds.client import guesses
from fascicle.sites.feeds.discovery import feed_links
from fascicle.sites.feeds.youtube import channels_in_page, youtube_feed, youtube_page

URL = "https://example.org/blog/"
BASE = "http://127.0.0.1:9000"
CHANNEL = "UC" + "a" * 22
PLAYLIST = "PL" + "b" * 16
VIDEO = "dQw4w9WgXcQ"
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def test_i1_the_feeds_of_a_page_the_best_first() -> None:
    page = """
    <link rel=alternate type="application/json" href="/wp-json/wp/v2/posts/1">
    <link rel="alternate" type="application/rss+xml" title="Blog: Comments Feed" href="/comments/feed/">
    <link rel="alternate" type="application/json" title="JSON" href="/feed.json">
    <LINK REL="Alternate home" TYPE="application/RSS+xml; charset=utf-8" title=" Blog " href="feed">
    <link rel="alternate" type="application/atom+xml" href="//other.example/atom">
    <link rel="alternate" type="application/rss+xml" href="feed">
    <link rel="alternate" type="application/rss+xml" href="feed:nonsense">
    <link rel="alternate" hreflang="de" href="/de/"><link rel="stylesheet" type="text/xml" href="/x">
    <a href="/about">About</a><a href="/tags/rss">Tag</a><a href="/rss.xml">RSS</a><a href="feed">again</a>
    """
    found = feed_links(page.encode(), url=URL)
    assert [link.url for link in found] == [
        "https://example.org/blog/feed",
        "https://other.example/atom",
        "https://example.org/feed.json",
        "https://example.org/comments/feed/",
        "https://example.org/tags/rss",
        "https://example.org/rss.xml",
    ]
    assert (found[0].title, found[0].type) == ("Blog", "application/rss+xml")


def test_i1_a_pages_base_counts() -> None:
    page = b'<base href="https://cdn.example/x/"><link rel="alternate" type="application/rss+xml" href="f">'
    assert [link.url for link in feed_links(page, url=URL)] == ["https://cdn.example/x/f"]
    page = page.replace(b"https://cdn.example/x/", b"javascript:x")
    assert [link.url for link in feed_links(page, url=URL)] == ["https://example.org/blog/f"]


@pytest.mark.parametrize("page", [b"", b"\xff\xfe\x00", b"<div>" * 20_000, b"<p>no feeds</p>"])
def test_i1_pages_without_feeds(page: bytes) -> None:
    assert feed_links(page, url=URL) == []


def test_i1_places_to_look_are_few() -> None:
    assert guesses("https://example.org/blog/?p=1") == [
        f"https://example.org/{place}" for place in ("feed", "rss.xml", "atom.xml", "index.xml")
    ]
    assert guesses("ftp://example.org/") == []


@pytest.mark.parametrize(
    ("url", "query"),
    [
        (f"https://www.youtube.com/channel/{CHANNEL}", f"channel_id={CHANNEL}"),
        (f"https://m.youtube.com/channel/{CHANNEL}/videos?x=1", f"channel_id={CHANNEL}"),
        (f"{BASE}/channel/{CHANNEL}", f"channel_id={CHANNEL}"),
        (f"https://youtube.com/playlist?list={PLAYLIST}", f"playlist_id={PLAYLIST}"),
        (f"https://www.youtube.com/watch?list={PLAYLIST}", f"playlist_id={PLAYLIST}"),
        ("https://www.youtube.com/user/Some.Name/videos", "user=Some.Name"),
        (f"https://www.youtube.com/feeds/videos.xml?channel_id={CHANNEL}", f"channel_id={CHANNEL}"),
        (f"https://www.youtube.com/feeds/videos.xml?playlist_id={PLAYLIST}", f"playlist_id={PLAYLIST}"),
        (f"{BASE}/feeds/videos.xml?user=name", "user=name"),
        ("https://www.youtube.com/@handle", None),
        (f"https://www.youtube.com/watch?v={VIDEO}&list={PLAYLIST}", None),
        ("https://www.youtube.com/channel/UCshort", None),
        ("https://www.youtube.com/feeds/videos.xml", None),
        (f"https://example.org/channel/{CHANNEL}", None),
        (f"ftp://www.youtube.com/channel/{CHANNEL}", None),
        ("http://[", None),
    ],
)
def test_i1_what_people_paste_of_youtube(url: str, query: str | None) -> None:
    assert youtube_feed(url, BASE) == (f"{BASE}/feeds/videos.xml?{query}" if query else None)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://www.youtube.com/@handle/videos", "/@handle"),
        ("https://youtube.com/@Ünder", "/@%C3%9Cnder"),
        ("https://www.youtube.com/c/Name", "/c/Name"),
        (f"{BASE}/@handle", "/@handle"),
        (f"https://www.youtube.com/watch?v={VIDEO}&list={PLAYLIST}", f"/watch?v={VIDEO}"),
        (f"https://youtu.be/{VIDEO}?si=x", f"/watch?v={VIDEO}"),
        (f"{BASE}/watch?v={VIDEO}", f"/watch?v={VIDEO}"),
        (f"{BASE}/shorts/{VIDEO}", f"/watch?v={VIDEO}"),
        ("https://www.youtube.com/", None),
        ("https://www.youtube.com/results?search_query=x", None),
        ("https://example.org/@handle", None),
    ],
)
def test_i1_pages_of_youtube_that_name_a_channel(url: str, page: str | None) -> None:
    assert youtube_page(url, BASE) == (f"{BASE}{page}" if page else None)


@pytest.mark.parametrize(
    "page",
    [
        '"channelId":"UCzzzzzzzzzzzzzzzzzzzzzz"<link rel="alternate" type="application/rss+xml" title="RSS" '
        'href="https://www.youtube.com/feeds/videos.xml?channel_id={}">',
        '"channelId":"UCzzzzzzzzzzzzzzzzzzzzzz"<meta itemprop="identifier" content="{}">',
        '<meta itemprop="channelId" content="{}">',
        '"channelId":"UCzzzzzzzzzzzzzzzzzzzzzz"<link rel="canonical" href="https://www.youtube.com/channel/{}">',
        '"channelId":"UCzzzzzzzzzzzzzzzzzzzzzz","externalId":"{}"',
        'ytInitialPlayerResponse = {{"videoDetails":{{"channelId": "{}"}}}}',
    ],
)
def test_i1_the_channel_in_a_page(page: str) -> None:
    assert channels_in_page(page.format(CHANNEL).encode())[0] == CHANNEL


def test_i1_a_page_without_a_channel() -> None:
    assert channels_in_page(b'<html>"channelId":"UCshort"</html>' + b"<link " * 50_000) == []


@pytest.mark.parametrize(
    ("headers", "ttl", "seconds"),
    [
        ({}, None, None),
        ({}, 3600, 3600),
        ({"Retry-After": "120"}, 60, 120),
        ({"Cache-Control": "public, max-age=600"}, 60, 600),
        ({"Cache-Control": "s-maxage=900, max-age=600"}, None, 600),
        ({"Cache-Control": "no-cache, max-age=600"}, None, None),
        ({"Cache-Control": "no-store", "Expires": "Mon, 16 Nov 2026 00:10:00 GMT"}, 60, 60),
        ({"Cache-Control": "max-age=0", "Expires": "Mon, 16 Nov 2026 00:10:00 GMT"}, None, None),
        ({"Expires": "Mon, 16 Nov 2026 00:10:00 GMT"}, None, 600),
        ({"expires": "Sun, 15 Nov 2026 00:00:00 GMT"}, None, None),
        ({"Expires": "0", "Cache-Control": "max-age=soon", "Retry-After": "later"}, None, None),
        ({"Cache-Control": "max-age=999999999"}, None, 30 * 86_400),
    ],
)
def test_i1_the_time_a_site_asks_for(headers: dict[str, str], ttl: int | None, seconds: int | None) -> None:
    assert patience_seconds(headers, ttl, now=NOW) == seconds
