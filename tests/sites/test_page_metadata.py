"""What pages say about themselves, their text and their language (I5)."""

from datetime import UTC, datetime

import pytest

from fascicle.domain.errors import RetryableError
from fascicle.domain.feeds.item_page import PageMetadata, primary_language
from fascicle.sites.pages import values
from fascicle.sites.pages.language import language_of
from fascicle.sites.pages.main_text import page_text
from fascicle.sites.pages.metadata import page_metadata
from fascicle.sites.pages.text import text_of_html

URL = "https://blog.test/2024/lanterns"
FULL = """<!doctype html><html lang="en-GB"><head><title>Lanterns | Blog</title>
<meta property="og:title" content="Lanterns &amp; lamps"><meta property="og:type" content="article">
<meta property="og:description" content="How they <b>shine</b>.">
<meta property="og:site_name" content="The Blog">
<meta property="og:image" content="data:image/gif;base64,R0"><meta property="og:image" content="/img/1.jpg">
<meta name="author" content="Ann Lamp">
<meta property="article:published_time" content="2024-05-01T10:00:00+02:00">
<link rel="canonical" href="/lanterns">
<link rel="alternate" type="application/json+oembed" href="/oembed?u=1">
</head><body><p>Hello</p></body></html>"""


def read(html: str | bytes, content_type: str | None = "text/html; charset=utf-8") -> PageMetadata:
    body = html if isinstance(html, bytes) else html.encode()
    return page_metadata(body, url=URL, content_type=content_type)


def test_i5_open_graph_is_read() -> None:
    assert read(FULL).model_dump() == {
        "url": URL,
        "content_type": "text/html; charset=utf-8",
        "title": "Lanterns & lamps",
        "description": "How they shine.",
        "site_name": "The Blog",
        "author": "Ann Lamp",
        "image_url": "https://blog.test/img/1.jpg",
        "published_at": datetime(2024, 5, 1, 8, tzinfo=UTC),
        "duration_seconds": None,
        "language": "en",
        "canonical_url": "https://blog.test/lanterns",
        "oembed_url": "https://blog.test/oembed?u=1",
        "kind": "article",
    }


def test_i5_json_ld_is_read_from_a_graph_beside_other_things() -> None:
    page = read("""<html><head><script type="application/ld+json">{broken</script>
      <script type="application/ld+json">{"@graph": [{"@type": "BreadcrumbList"}, {"@type": ["VideoObject"],
        "name": "Waves", "description": "At
        night", "duration": "PT1H4M13S", "uploadDate": "2024-05-01", "inLanguage": "pt-BR",
        "author": [{"@type": "Person", "name": "Bea"}], "publisher": {"name": "Sea TV"},
        "image": [{"url": "https://cdn.test/w.jpg"}]}]}</script></head></html>""")
    assert (page.title, page.description, page.author, page.site_name) == (
        "Waves",
        "At night",
        "Bea",
        "Sea TV",
    )
    assert (page.duration_seconds, page.language, page.kind) == (3853, "pt", "VideoObject")
    assert page.image_url == "https://cdn.test/w.jpg"
    assert page.published_at == datetime(2024, 5, 1, tzinfo=UTC)


def test_i5_twitter_cards_and_plain_html_fill_in() -> None:
    page = read("""<title> Plain
      title </title><meta name="description" content="Words">
      <meta name="twitter:image" content="//cdn.test/t.png">
      <meta itemprop="duration" content="PT4M13S"><meta property="og:locale" content="de_AT">""")
    assert (page.title, page.description, page.image_url) == (
        "Plain title",
        "Words",
        "https://cdn.test/t.png",
    )
    assert (page.duration_seconds, page.language) == (253, "de")


def test_i5_a_page_is_read_in_the_encoding_it_declares() -> None:
    assert read("<title>Größe</title>".encode("cp1252"), "text/html; charset=ISO-8859-1").title == "Größe"
    assert read('<meta charset="shift_jis"><title>猫</title>'.encode("shift_jis"), None).title == "猫"
    assert read("<title>Größe</title>", "text/html; charset=punycode").title == "Größe"


def test_i5_hostile_pages_yield_nothing_or_an_error() -> None:
    page = read("""<title>\0</title><meta property="og:image" content="javascript:alert(1)">
      <meta property="og:title" content="<script>x</script>"><meta itemprop="duration" content="PT99999H">
      <script type="application/ld+json">{"@type": "Article", "image": "https://x.test/\\ud800",
        "headline": 5, "datePublished": "0001-01-01", "author": {"name": "https://x.test"}}</script>""")
    assert (page.image_url, page.title, page.duration_seconds, page.author) == (None, "x", None, None)
    assert page.published_at is None
    read('<script type="application/ld+json">' + "[" * 100_000 + "</script>")
    with pytest.raises(RetryableError, match="no page a browser could show"):
        read("<a " + " ".join(f"x{n}" for n in range(9000)))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("PT4M13S", 253), ("P1DT2H", 93_600), ("PT12.7S", 12), ("1:02:03", 3723), ("04:13", 253)),
        *(("253.0", 253), (61, 61), ("P", None), ("", None), ("soon", None), (True, None), (-5, None)),
        *((1e300, None), (None, None)),
    ],
)
def test_i5_durations_in_all_spellings(value: object, seconds: int | None) -> None:
    assert values.duration(value) == seconds


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        *(("en-US", "en"), ("DE_at", "de"), ("fil", "fil"), (" zh-Hant-TW ", "zh"), ("und", None)),
        *(("", None), ("english", None), ("{{lang}}", None), (None, None)),
    ],
)
def test_i5_a_language_is_its_primary_subtag(tag: str | None, language: str | None) -> None:
    assert primary_language(tag) == language


def test_i5_the_text_of_a_page_is_its_main_part() -> None:
    sentence = "The lighthouse keeper climbed the stairs, as he had done every evening for thirty years. "
    html = f"""<html><head><title>T</title></head><body><nav><a href="/">Home</a> <a href="/x">About</a></nav>
      <article><h1>Lights</h1><p>{sentence * 4}</p><p>Twice: {sentence * 4}</p></article>
      <footer>Copyright, cookies and imprint</footer></body></html>"""
    text = page_text(html.encode(), URL)
    assert text is not None
    assert text.count("lighthouse keeper") == 8
    assert "Home" not in text
    assert "cookies" not in text
    assert page_text(b"<html><body><p>Little</p></body></html>", URL) is None
    assert page_text(b"<div>" * 20_000, URL) is None


def test_i5_the_words_of_a_feeds_html_keep_their_paragraphs() -> None:
    html = "<p>One <b>bo</b>ld &amp; <a href='x'>linked</a></p><p>Two<br>three</p><!-- no -->"
    assert text_of_html(html) == "One bold & linked\nTwo\nthree"
    assert text_of_html(None) == ""


def test_i5_a_language_is_worked_out_only_of_enough_words() -> None:
    german = "Der Leuchtturmwärter stieg die Treppe hinauf, wie er es seit dreißig Jahren jeden Abend tat. "
    assert language_of(german * 2) == "de"
    assert language_of("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 2) == "ja"
    assert language_of("Der Hund") is None
    assert language_of("x1 y2 z3 q4 k5 " * 10) is None
