"""I1: what the formats of feeds say, each in its own way, comes out the same."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import Entry, FeedKind, ParsedFeed
from fascicle.sites.feeds.parse import parse_feed

URL = "https://example.org/news/feed"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
NAMESPACES = (
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"'
    ' xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:yt="http://www.youtube.com/xml/schemas/2015"'
    ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
    ' xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
)


def read(document: str | bytes, **options: Any) -> ParsedFeed:
    body = document.encode() if isinstance(document, str) else document
    return parse_feed(body, **{"url": URL, "now": NOW, **options})


def rss(items: str, channel: str = "") -> str:
    return f'<rss version="2.0" {NAMESPACES}><channel><title>News</title>{channel}{items}</channel></rss>'


def atom(entries: str, head: str = "") -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom" {NAMESPACES}><title>News</title>{head}{entries}</feed>'


def item(content: str) -> Entry:
    return read(rss(f"<item><guid>1</guid>{content}</item>")).entries[0]


def entry(content: str) -> Entry:
    return read(atom(f"<entry><id>1</id>{content}</entry>")).entries[0]


@pytest.mark.parametrize(
    ("document", "kind", "format_"),
    [
        (rss("<item><title>A</title></item>"), FeedKind.RSS, "rss20"),
        (
            '<rss version="0.91"><channel><item><title>A</title></item></channel></rss>',
            FeedKind.RSS,
            "rss091u",
        ),
        (
            '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
            '<channel/><item rdf:about="u"><title>A</title></item></rdf:RDF>',
            FeedKind.RDF,
            "rss10",
        ),
        (atom("<entry><title>A</title></entry>"), FeedKind.ATOM, "atom10"),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "items": [{"title": "A"}]}',
            FeedKind.JSON,
            "json1.1",
        ),
        ('{"version": "https://jsonfeed.org/version/1", "items": [{"title": "A"}]}', FeedKind.JSON, "json1"),
        (
            atom("<entry><title>A</title><yt:videoId>dQw4w9WgXcQ</yt:videoId></entry>"),
            FeedKind.YOUTUBE,
            "atom10",
        ),
        (
            rss('<item><title>A</title><enclosure url="http://a.example/a.mp3" type="audio/mpeg"/></item>'),
            FeedKind.PODCAST,
            "rss20",
        ),
    ],
)
def test_i1_each_format_is_recognised(document: str, kind: FeedKind, format_: str) -> None:
    found = read(document)
    assert (found.kind, found.format, found.entries_total) == (kind, format_, 1)
    assert found.entries[0].title == "A"


def test_i1_a_channel_of_audio_is_a_podcast_and_a_blog_with_a_plugin_is_none() -> None:
    audio = '<item><guid>{}</guid><enclosure url="http://a.example/{}.mp3" type="audio/mpeg"/></item>'
    tag = "<itunes:explicit>no</itunes:explicit>"
    words = "".join(f"<item><guid>w{number}</guid></item>" for number in range(3))
    assert read(rss(audio.format(1, 1) + words)).kind is FeedKind.RSS
    assert read(rss(audio.format(1, 1) + words, tag)).kind is FeedKind.PODCAST
    assert read(rss(words, tag)).kind is FeedKind.RSS
    assert read(rss("", tag)).kind is FeedKind.PODCAST


def test_i1_the_channel() -> None:
    found = read(
        rss(
            "",
            "<link>/news</link><description>All &lt;b&gt;news&lt;/b&gt;</description>"
            "<language>en_GB</language>"
            "<image><url>/logo.png</url><title>Other</title><link>http://other.example/</link></image>"
            "<ttl>90</ttl>"
            "<itunes:new-feed-url>https://new.example/feed</itunes:new-feed-url>",
        )
    )
    assert found == ParsedFeed(
        kind=FeedKind.PODCAST,
        format="rss20",
        title="News",
        site_url="https://example.org/news",
        description="All news",
        language="en-GB",
        image_url="https://example.org/logo.png",
        moved_to="https://new.example/feed",
        ttl_seconds=5400,
    )


@pytest.mark.parametrize(
    ("channel", "seconds"),
    [
        ("<ttl>1</ttl>", 60),
        ("<ttl>99999</ttl>", 86_400),
        ("<ttl>soon</ttl>", None),
        ("<ttl>-5</ttl>", None),
        ("<sy:updatePeriod> hourly </sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>", 1800),
        ("<sy:updatePeriod>weekly</sy:updatePeriod>", 86_400),
        ("", None),
    ],
)
def test_i1_how_long_a_feed_may_be_kept(channel: str, seconds: int | None) -> None:
    assert read(rss("", channel)).ttl_seconds == seconds


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Salt &amp;amp; Pepper", "Salt & Pepper"),
        ("<![CDATA[Salt &amp; <b>Pepper</b>]]>", "Salt & Pepper"),
        ("AT&T &eacute;t&eacute; &nonsense;", "AT&T été &nonsense;"),
        ("a\n   b\x0bc", "a bc"),
        ("", ""),
    ],
)
def test_i1_a_title_is_a_line_of_plain_text(title: str, expected: str) -> None:
    assert item(f"<title>{title}</title>").title == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<link>a?b=1&amp;c=2</link>", "https://example.org/news/a?b=1&c=2"),
        ("<link> \nhttps://example.org/a\n </link>", "https://example.org/a"),
        ("<link>https://example.org/?a=1&b=2&copy=3</link>", "https://example.org/?a=1&b=2&copy=3"),
        ("<link><![CDATA[https://example.org/?a=1&b=2]]></link>", "https://example.org/?a=1&b=2"),
        ("<guid>https://example.org/g</guid>", "https://example.org/g"),
        ("<guid>relative</guid>", None),
        ("<link>javascript:alert(1)</link>", None),
        ("<enclosure url='https://example.org/a.pdf'/>", "https://example.org/a.pdf"),
        (
            "<link>http://feedproxy.example/~r/1</link><feedburner:origLink>https://example.org/o</feedburner:origLink>",
            "https://example.org/o",
        ),
    ],
)
def test_i1_an_entrys_address(content: str, expected: str | None) -> None:
    assert item(content).url == expected


def test_i1_an_atom_entrys_address_is_the_page_for_people() -> None:
    found = entry(
        '<link rel="self" href="/self"/><link rel="alternate" type="application/json" href="/json"/>'
        '<link rel="alternate" type="text/html" href="a" xml:base="https://other.example/b/"/>'
    )
    assert found.url == "https://other.example/b/a"


def test_i1_the_id_stays_as_it_is_wherever_the_feed_moves() -> None:
    document = rss("<item><guid> 12345 </guid><link>/a</link></item>")
    for url in (URL, "http://elsewhere.example/feed"):
        found = read(document, url=url).entries[0]
        assert (found.guid, found.key) == ("12345", "12345")


@pytest.mark.parametrize(
    ("content", "published", "updated"),
    [
        ("<pubDate>Mon, 02 Nov 2026 10:00:00 +0200</pubDate>", "2026-11-02T08:00:00+00:00", None),
        ("<dc:date>2026-11-02T10:00:00Z</dc:date>", "2026-11-02T10:00:00+00:00", "2026-11-02T10:00:00+00:00"),
        ("<dc:date>1793613600</dc:date>", "2026-11-02T10:00:00+00:00", "2026-11-02T10:00:00+00:00"),
        ("<pubDate>Thu, 01 Jan 1970 00:00:00 GMT</pubDate>", None, None),
        ("<pubDate>Fri, 20 Nov 2026 00:00:00 GMT</pubDate>", None, None),
        ("<pubDate>Tue, 17 Nov 2026 00:00:00 GMT</pubDate>", "2026-11-17T00:00:00+00:00", None),
        ("<pubDate>yesterday</pubDate>", None, None),
        ("<pubDate>Mon, 99 Foo 99999 99:99:99 GMT</pubDate>", None, None),
    ],
)
def test_i1_times_are_utc_or_not_believed(content: str, published: str | None, updated: str | None) -> None:
    found = item(content)
    assert found.published_at == (datetime.fromisoformat(published) if published else None)
    assert found.updated_at == (datetime.fromisoformat(updated) if updated else None)


def test_i1_words_are_html_with_absolute_links() -> None:
    found = item(
        "<description>&lt;p&gt;Short &lt;a href='b?c=1&amp;amp;d=2'&gt;x&lt;/a&gt;&lt;/p&gt;</description>"
        '<content:encoded><![CDATA[<img src="/i.png"> <a href="#top">t</a> <a href="mailto:a@b.c">m</a>]]>'
        "</content:encoded>"
    )
    assert found.summary == '<p>Short <a href="https://example.org/news/b?c=1&amp;d=2">x</a></p>'
    assert found.content == (
        '<img src="https://example.org/i.png"> <a href="#top">t</a> <a href="mailto:a@b.c">m</a>'
    )


def test_i1_plain_text_becomes_html_and_content_is_no_summary_of_itself() -> None:
    assert entry("<summary>1 &lt; 2\nyes</summary>").summary == "1 &lt; 2<br>\nyes"
    found = entry('<content type="html">&lt;p&gt;All&lt;/p&gt;</content>')
    assert (found.summary, found.content) == (None, "<p>All</p>")
    xhtml = '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b>All</b></div></content>'
    assert entry(xhtml).content == "<b>All</b>"


def test_i1_endless_words_are_cut() -> None:
    assert len(item(f"<description>{'a' * 300_000}</description>").summary or "") == 200_000


def test_i1_author_language_and_categories() -> None:
    many = "".join(f"<category>{number}</category>" for number in range(30))
    found = item(f"<author>a@b.org (Ann &amp;amp; Bo)</author><dc:language>de</dc:language>{many}")
    assert (found.author, found.language) == ("Ann & Bo", "de")
    assert found.categories == [str(number) for number in range(20)]


@pytest.mark.parametrize(
    "content",
    [
        '<media:thumbnail url="/i"/>',
        '<media:group><media:thumbnail url="/i"/></media:group>',
        '<media:content url="/i" medium="image"/>',
        '<media:content url="/i" type="image/png"/>',
        '<itunes:image href="/i"/>',
        '<enclosure url="/i" type="image/jpeg"/>',
    ],
)
def test_i1_an_image_from_wherever_it_stands(content: str) -> None:
    assert item(content).image_url == "https://example.org/i"
    assert item(content.replace("/i", "data:image/png;base64,x")).image_url is None


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        *(("90", 90), ("1:30", 90), ("01:01:30", 3690), ("90.5", 90), ("75:00", 4500), (" 1:30 ", 90)),
        *(("", None), ("0", None), ("an hour", None), ("1:2:3:4", None), ("99999999999", None), ("-5", None)),
    ],
)
def test_i1_durations(written: str, seconds: int | None) -> None:
    assert item(f"<itunes:duration>{written}</itunes:duration>").duration_seconds == seconds


def test_i1_media() -> None:
    found = item('<enclosure url="/a.mp3?x=1" length="1"/>')
    assert (found.media_url, found.media_type) == ("https://example.org/a.mp3?x=1", "audio/mp3")
    found = item('<media:content url="/v" type="video/mp4" duration="61"/>')
    assert (found.media_url, found.media_type, found.duration_seconds) == (
        "https://example.org/v",
        "video/mp4",
        61,
    )
    assert item('<enclosure url="/a.zip" type="application/zip"/>').media_url is None


def test_i3_whose_id_an_entry_has() -> None:
    video = entry("<yt:videoId>dQw4w9WgXcQ</yt:videoId>")
    assert (video.provider, video.provider_item_id) == ("youtube", "dQw4w9WgXcQ")
    linked = item("<link>https://youtu.be/dQw4w9WgXcQ</link>")
    assert (linked.provider, linked.provider_item_id) == ("youtube", "dQw4w9WgXcQ")
    assert item("<link>https://example.org/a</link>").provider is None


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("<item><guid>e1</guid></item><item><title>x</title></item>", ["p1:e1", None]),
        ("<item><guid>e1</guid><link>https://youtu.be/dQw4w9WgXcQ</link></item>", ["p1:e1"]),
        ("<item><guid>https://a.example/e#3</guid></item>", ["p1:https://a.example/e"]),
        # An id that several episodes have is that of none.
        (
            "<item><guid>1</guid><link>/a</link></item><item><guid>1</guid><link>/b</link></item>",
            [None, None],
        ),
        (
            "<item><guid>1</guid><title>A</title></item><item><guid>1</guid><title>B</title></item>",
            [None, None],
        ),
    ],
)
def test_i3_an_episode_has_its_podcasts_id_where_its_own_tells_it_apart(
    items: str, expected: list[str | None]
) -> None:
    found = read(rss(items, "<podcast:guid>p1</podcast:guid>")).entries
    assert [entry.provider_item_id for entry in found] == expected
    assert [entry.provider for entry in found] == [name and "podcast" for name in expected]


def test_i3_an_endless_id_of_an_episode_is_hashed() -> None:
    items = "".join(f"<item><guid>{'e' * length}</guid></item>" for length in (100, 297, 298, 500, 501))
    ids = [
        found.provider_item_id or "" for found in read(rss(items, "<podcast:guid>p1</podcast:guid>")).entries
    ]
    assert len(set(ids)) == 5
    assert ids[1] == f"p1:{'e' * 297}"
    assert all(0 < len(name) <= 300 for name in ids)


def test_i1_a_json_feed() -> None:
    found = read(
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "title": "News",
                "home_page_url": "/",
                "language": "fr",
                "icon": "/icon.png",
                "items": [
                    {
                        "id": 7,
                        "url": "a",
                        "title": "A &amp; B",
                        "content_html": '<a href="c">x</a>',
                        "summary": "a < b",
                        "date_published": "2026-11-02T10:00:00+02:00",
                        "authors": [{"name": "Ann"}, {"name": "Bo"}],
                        "tags": ["x", 5],
                        "banner_image": "/b.png",
                        "attachments": [
                            {"url": "/a.mp3", "mime_type": "audio/mpeg", "duration_in_seconds": 61.5}
                        ],
                    },
                    {"content_text": "only\nwords", "external_url": "javascript:x"},
                    {"title": ["no"], "tags": "no", "attachments": [None], "author": 3, "url": {}},
                    "rubbish",
                ],
            }
        )
    )
    assert (found.title, found.site_url, found.language) == ("News", "https://example.org/", "fr")
    assert (found.entries_total, found.skipped) == (3, 1)
    first, second = found.entries
    assert first == Entry(
        key="7",
        guid="7",
        url="https://example.org/news/a",
        title="A & B",
        summary="a &lt; b",
        content='<a href="https://example.org/news/c">x</a>',
        author="Ann, Bo",
        published_at=datetime(2026, 11, 2, 8, tzinfo=UTC),
        image_url="https://example.org/b.png",
        media_url="https://example.org/a.mp3",
        media_type="audio/mpeg",
        duration_seconds=61,
        categories=["x"],
    )
    assert (second.content, second.url, second.title) == ("only<br>\nwords", None, "")


def test_i1_of_a_long_feed_the_newest_entries_count() -> None:
    dated = "".join(
        f"<item><guid>{day}</guid><pubDate>{day:02} Nov 2026 00:00:00 GMT</pubDate></item>"
        for day in (3, 9, 1, 7)
    )
    found = read(rss(f"<item><guid>undated</guid></item>{dated}"), max_entries=2)
    assert ([found_entry.guid for found_entry in found.entries], found.entries_total) == (["9", "7"], 5)
    undated = "".join(f"<item><guid>{number}</guid></item>" for number in range(4))
    assert [found_entry.guid for found_entry in read(rss(undated), max_entries=2).entries] == ["0", "1"]


@pytest.mark.parametrize("end", ["</channel></rss>", "", "<item><guid>cut"])
def test_i1_a_long_feed_is_thinned_wherever_entries_seem_to_begin(end: str) -> None:
    odd = "<![CDATA[ <item> ]]>&lt;item&gt;<media:item>x</media:item>"
    items = "".join(f"<item><guid>{n}</guid><description>{odd}</description></item>\n" for n in range(9))
    found = read(rss(items).replace("</channel></rss>", end), max_entries=3)
    assert [found_entry.guid for found_entry in found.entries] == ["0", "1", "2"]
    assert found.entries_total == (10 if "cut" in end else 9)
    assert "<item>" in (found.entries[2].summary or "")
    assert found.title == "News"


def test_i1_a_feed_without_entries_is_a_feed() -> None:
    for document in (rss(""), atom(""), '{"version": "https://jsonfeed.org/version/1", "items": []}'):
        assert read(document).entries == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "an empty document"),
        (b" \n\xef\xbb\xbf", "an empty document"),
        (b"\x00" * 100, "an empty document"),
        (b"<!DOCTYPE html><html><head><title>My blog</title></head></html>", "an HTML page (“My blog”)"),
        (b"<html><title>404 Not Found</title>", "an HTML error page (“404 Not Found”)"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><rss/></html>", "an HTML page"),
        (b'{"error": "no"}', "JSON that is no feed"),
        (b"[1, 2]", "JSON that is no feed"),
        (b'{"items": [', "JSON that is no feed"),
        (
            b"<urlset xmlns='http://www.w3.org/2005/Atom'><url/></urlset>",
            "XML that is no feed: it begins with <urlset>",
        ),
        (b"<opml version='2.0'><body><outline/></body></opml>", "a list of feeds (OPML)"),
        (b"<response><feed id='1'/></response>", "XML that is no feed"),
        (b"https://example.org/", "text that is no feed"),
        (b"/etc/passwd", "text that is no feed"),
        (b"\x1f\x8b\x08\x00\x12\x34", "text that is no feed"),
    ],
)
def test_x7_what_is_no_feed_is_called_what_it_is(body: bytes, said: str) -> None:
    with pytest.raises(PermanentError) as caught:
        read(body)
    assert caught.value.code == "not_a_feed"
    assert said in caught.value.message
