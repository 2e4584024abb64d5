"""OPML as lists of feeds: read whatever readers write, and write what they read (I7)."""

import pytest

from fascicle.domain.errors import UsageError
from fascicle.imports.feeds_opml import WantedFeed, feeds_opml, parse_feed_opml
from fascicle.imports.wanted import MAX_ROWS

YOUTUBE = "https://www.youtube.com/feeds/videos.xml?channel_id=UC1"


def opml(body: str) -> bytes:
    return f"<?xml version='1.0'?>\n<opml version='1.1'><head/><body>{body}</body></opml>".encode()


def test_i7_folders_titles_and_pages_are_kept_in_the_order_of_the_file() -> None:
    feeds = parse_feed_opml(
        opml(f"""
        <outline text="News"><outline title="Tech &amp; more">
          <outline text="short" title=" The  Blog " type="rss" xmlUrl="https://b.test/rss" htmlUrl="https://b.test/"/>
        </outline><outline text="Daily" xmlurl=" https://d.test/feed "/></outline>
        <outline text="YouTube Subscriptions"><outline text="Panels" XMLURL="{YOUTUBE}"/></outline>
        <outline xmlUrl="https://n.test/"/>
        <outline text="https://p.test/?auth=secret" xmlUrl="https://p.test/?auth=secret"/>""")
    )
    assert feeds == [
        WantedFeed("https://b.test/rss", "The Blog", "News/Tech & more", "https://b.test/"),
        WantedFeed("https://d.test/feed", "Daily", "News"),
        WantedFeed(YOUTUBE, "Panels", "YouTube Subscriptions"),
        WantedFeed("https://n.test/"),
        WantedFeed("https://p.test/?auth=secret"),
    ]
    assert feeds.notes == ()


def test_i7_a_feed_counts_once_and_what_has_no_address_is_noted() -> None:
    feeds = parse_feed_opml(
        opml("""<outline text="A"><outline xmlUrl="https://x.test/"/></outline>
                <outline text="B"><outline xmlUrl="https://x.test/"/></outline>
                <outline text="a page" htmlUrl="https://y.test/"/><outline text="words" xmlUrl=" "/>""")
    )
    assert feeds == [WantedFeed("https://x.test/", folder="A")]
    assert feeds.notes == (
        "1 outlines name a feed for the second time",
        "2 outlines have no feed's address (xmlUrl)",
    )


def test_i7_a_feed_with_outlines_below_it_is_no_folder() -> None:
    body = '<outline text="F" xmlUrl="https://f.test/"><outline text="g" xmlUrl="https://g.test/"/></outline>'
    assert parse_feed_opml(opml(body)) == [
        WantedFeed("https://f.test/", "F"),
        WantedFeed("https://g.test/", "g"),
    ]


def test_i7_deep_nesting_is_read_without_sinking_into_it() -> None:
    depth = 5000
    body = '<outline text="d">' * depth + '<outline xmlUrl="https://x.test/"/>' + "</outline>" * depth
    (feed,) = parse_feed_opml(opml(body))
    assert feed.folder is not None
    assert feed.folder.startswith("d/d/d")
    assert len(feed.folder) <= 500


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"<rss><channel/></rss>", "its root is <rss>"),
        (b"<opml><body><outline", "damaged"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>', "entities"),
        (
            opml("".join(f'<outline xmlUrl="https://x.test/{n}"/>' for n in range(MAX_ROWS + 1))),
            "20,001 feeds are too many",
        ),
    ],
    ids=["empty", "rss", "cut off", "entities", "too many"],
)
def test_x7_what_is_no_list_of_feeds_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_feed_opml(data)


def test_i7_what_is_exported_can_be_imported_as_it_was() -> None:
    rows: list[dict[str, str | None]] = [
        {"url": "https://a.test/?x=1&y=2", "title": 'A "quoted" <title>', "site_url": None, "folder": None},
        {"url": YOUTUBE, "title": "Ünïcode ☃", "site_url": "https://c.test/", "folder": "Video/Panels"},
        {"url": "https://b.test/", "title": "B", "site_url": "https://b.test/", "folder": "Video"},
        {"url": "https://b.test/", "title": "of somebody else", "site_url": None, "folder": None},
        {"url": "https://d.test/", "title": "bell \x07", "site_url": None, "folder": "Other/Panels"},
    ]
    document = feeds_opml(rows)
    assert document.startswith(b"<?xml")
    assert document.count(b'"Panels"') == 4, "text and title of two folders of one name"
    assert parse_feed_opml(document) == [
        WantedFeed("https://a.test/?x=1&y=2", 'A "quoted" <title>'),
        WantedFeed(YOUTUBE, "Ünïcode ☃", "Video/Panels", "https://c.test/"),
        WantedFeed("https://b.test/", "B", "Video", "https://b.test/"),
        WantedFeed("https://d.test/", "bell \ufffd", "Other/Panels"),
    ]


def test_i7_nothing_followed_is_an_empty_list() -> None:
    assert parse_feed_opml(feeds_opml([])) == []
