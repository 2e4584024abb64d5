"""I1, I6: damaged, mislabelled and hostile feeds yield what is readable in them, and nothing else happens."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fascicle.domain.errors import PermanentError
from fascicle.domain.feeds.feed import ParsedFeed
from fascicle.sites.feeds.parse import parse_feed

RSS = "<rss version='2.0'><channel><title>{}</title><item><title>{}</title></item></channel></rss>"


def read(body: bytes, content_type: str | None = None) -> ParsedFeed:
    return parse_feed(body, url="https://example.org/feed", content_type=content_type)


def titles(body: bytes, content_type: str | None = None) -> list[str]:
    return [entry.title for entry in read(body, content_type).entries]


def declared(encoding: str, title: str) -> str:
    return f"<?xml version='1.0' encoding='{encoding}'?>" + RSS.format("n", title)


@pytest.mark.parametrize(
    ("body", "content_type", "title"),
    [
        (RSS.format("n", "été").encode(), None, "été"),
        (RSS.format("n", "été").encode("latin-1"), None, "été"),
        (RSS.format("n", "été").encode(), "text/xml; charset=iso-8859-1", "été"),
        (RSS.format("n", "été").encode(), "text/xml", "été"),
        (declared("windows-1251", "Привет").encode("cp1251"), "text/xml; charset=utf-8", "Привет"),
        (declared("utf-8", "Привет").encode("cp1251"), "text/xml; charset=windows-1251", "Привет"),
        (declared("iso-8859-1", "“été”").encode("cp1252"), None, "“été”"),
        (declared("gb2312", "联通镕").encode("gbk"), None, "联通镕"),
        (declared("Shift_JIS", "日本").encode("cp932"), None, "日本"),
        (declared("iso-2022-jp", "日本").encode("iso-2022-jp"), None, "日本"),
        (declared("utf-16", "plain").encode(), None, "plain"),
        (declared("utf-16", "été").encode("utf-16"), None, "été"),
        (declared("utf-16", "été").encode("utf-16-be"), None, "été"),
        (declared("utf-32", "été").encode("utf-32"), None, "été"),
        (declared("utf-8", "été").encode("utf-8-sig"), None, "été"),
        (declared("base64", "été").encode(), "text/xml; charset=unicode_escape", "été"),
        (declared("utf-8", "ééé cut").encode().replace(b" cut", b" \xc3cut"), None, "ééé \ufffdcut"),
    ],
)
def test_i1_encodings_told_wrong_or_not_at_all(body: bytes, content_type: str | None, title: str) -> None:
    assert titles(body, content_type) == [title]


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n <?xml version='1.0'?>" + RSS.format("n", "A").encode(),
        b"<br />\n<b>Warning</b>: mysql_connect() in <b>/x.php</b><br />" + RSS.format("n", "A").encode(),
        b"<!-- <rss> --><?xml version='1.0'?><?pi a?><!DOCTYPE rss>" + RSS.format("n", "A").encode(),
        RSS.format("n", "\x00\x08A\x1f&#0;&#x1F;&#xFFFF;").encode(),
        RSS.format("n & <bad", "A").encode(),
        RSS.format("n", "A").encode() + b"<!-- trailing --></rss> rubbish",
        RSS.format("n", "A").partition("</item>")[0].encode(),
        RSS.format("n", "A").partition("</channel>")[0].encode() + b"<item><descr",
        b"<rss version='2.0'><channel><item><title>A</title></item>" + b"<![CDATA[ not closed",
        RSS.format("n", "A").replace("item>", "rss:item>").replace("title>", "rss:title>").encode(),
        RSS.format("n", "A").replace("<rss ", "<rss xmlns='urn:unknown' ").encode(),
    ],
)
def test_i1_damaged_documents(body: bytes) -> None:
    assert titles(body) == ["A"]


def test_i6_a_character_that_cannot_be_stored_costs_no_entry() -> None:
    bad = "\0x\ud800"
    item = {
        "id": f"i{bad}",
        "url": f"https://example.org/{bad}",
        "content_html": f"<p>{bad}</p>",
        **dict.fromkeys(("title", "summary", "image", "language"), bad),
        "authors": [{"name": bad}],
        "tags": [bad],
        "attachments": [{"url": f"/{bad}", "mime_type": f"audio/{bad}"}],
    }
    head = {
        "version": "https://jsonfeed.org/version/1",
        "title": bad,
        "home_page_url": f"/{bad}",
        "icon": bad,
    }
    found = read(json.dumps({**head, "items": [item, {"id": "\0", "title": "B"}, {"id": "2"}]}).encode())
    written = found.model_dump_json()
    assert ParsedFeed.model_validate_json(written) == found
    assert "\\u0000" not in written
    first, second, third = found.entries
    assert (first.key, first.url, first.content) == ("ix?", "https://example.org/x?", "<p>x?</p>")
    assert (second.key[:4], third.key) == ("sha:", "2")
    xml = RSS.replace("<item>", "<item><guid>i\0x&#xD800;&#0;</guid>").format("n", "A")
    assert [entry.key for entry in read(xml.encode()).entries] == ["ix"]


BOMB = "<!DOCTYPE rss [<!ENTITY a0 'ha'>{}]>".format(
    "".join(f"<!ENTITY a{n} '&a{n - 1};&a{n - 1};'>" for n in range(1, 60))
)


@pytest.mark.parametrize(
    ("prolog", "reference"),
    [
        (BOMB, "&a59;"),
        (f"<!DOCTYPE rss [<!ENTITY big '{'a' * 100_000}'>]>", "&big;" * 10_000),
        ("<!DOCTYPE rss [<!ENTITY file SYSTEM 'file:///etc/hostname'>]>", "&file;"),
        ("<!DOCTYPE rss [<!ENTITY % far SYSTEM 'http://127.0.0.1:1/x.dtd'> %far;]>", "&far;"),
        ("<!DOCTYPE rss SYSTEM 'http://127.0.0.1:1/x.dtd'>", "&far;"),
        ("<!DOCTYPE rss [<!ENTITY odd ']>'>]>", "&odd;"),
    ],
)
def test_i6_entities_neither_expand_nor_fetch(prolog: str, reference: str) -> None:
    found = read(f"<?xml version='1.0'?>{prolog}{RSS.format('n', reference)}".encode())
    assert [entry.title[:60] for entry in found.entries] == [reference[:60]]


def test_i6_deep_and_wide_documents_are_read() -> None:
    deep = "<a>" * 5000 + "</a>" * 5000
    assert titles(RSS.replace("<item>", f"{deep}<item>").format("n", "A").encode()) == ["A"]
    assert read(RSS.format("n", "&lt;!--" * 20_000).encode()).entries_total == 1
    with pytest.raises(PermanentError, match="JSON that is no feed"):
        read(b"[" * 100_000)


_PIECES = st.sampled_from(
    [
        *(
            "<rss version='2.0'>",
            "<channel>",
            "<item>",
            "</item>",
            "<title>",
            "</title>",
            "<feed>",
            "<entry>",
        ),
        *("<link href='http://[' />", "<guid>", "<pubDate>", "0000-99-99", "<![CDATA[", "]]>", "<!--", "-->"),
        *(
            "<!DOCTYPE x [",
            "]>",
            "&#",
            "&amp;",
            "&#x110000;",
            "&x;",
            "<?xml",
            "?>",
            "<html>",
            "<x:y z='",
            "\0",
            "<",
        ),
        *(
            "<content type='application/x'>",
            "<enclosure url='",
            "<ttl>",
            "{",
            '"items": [',
            "[",
            "}",
            "xmlns:a='b'>",
        ),
    ]
).map(str.encode)


@settings(max_examples=100, deadline=None)
@given(st.lists(_PIECES | st.binary(max_size=4), max_size=25).map(b"".join))
def test_i6_no_bytes_raise_anything_but_not_a_feed(body: bytes) -> None:
    try:
        keys = [entry.key for entry in read(body).entries]
    except PermanentError as error:
        keys = [error.code]
        if error.code != "not_a_feed":
            raise
    assert len(set(keys)) == len(keys)
