"""Pages and documents whose parsing would take minutes: what a parser gets of them is counted."""

from typing import Any

import pytest

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.xml_limits import MOST_ATTRIBUTES, has_endless_tag
from fascicle.imports.xml import parse_xml
from fascicle.sites.articles import page as article_page
from fascicle.sites.feeds import parse as feed_parse
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.pages import main_text

PARAGRAPHS = b"<html><body>" + b"<p>x</p>" * 250_000
MOST_MARKS = 40_000


def attributes(count: int, quote: str = '"') -> str:
    return " ".join(f"a{number}={quote}>{quote}" for number in range(count))


def test_of_endless_paragraphs_only_the_beginning_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def extracted(page: str, url: str, **_: Any) -> str:
        given.append(page)
        return "words " * 100

    monkeypatch.setattr(main_text, "extracted", extracted)
    assert main_text.page_text(PARAGRAPHS, "https://a.example/")
    assert [page.count("<") for page in given] == [MOST_MARKS]


def test_an_article_is_looked_for_in_the_beginning_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def main_text(html: str, url: str) -> Any:
        given.append(html)
        raise PermanentError("seen", "seen")

    monkeypatch.setattr(article_page, "main_text", main_text)
    with pytest.raises(PermanentError, match="seen"):
        article_page.article_of_page(PARAGRAPHS, url="https://a.example/", content_type=None, min_words=1)
    assert [page.count("<") for page in given] == [MOST_MARKS]


def test_a_usual_page_is_read_whole() -> None:
    page = b"<html><body>" + b"<p>some words</p>" * 10_000
    assert main_text.beginning_of_page(page) == page


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize(
    "document",
    [
        "<rss version='2.0'><channel {}><item><title>a</title></item></channel></rss>",
        "<rss version='2.0'><channel><item {}><title>a</title></item></channel></rss>",
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><é {}/></entry></feed>",
    ],
)
def test_a_tag_of_endless_attributes_is_no_feed(
    document: str, quote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: str) -> dict[str, Any]:
        raise AssertionError("it reached the parser")

    monkeypatch.setattr(feed_parse, "_read", never)
    body = document.format(attributes(300_000, quote)).encode()
    with pytest.raises(PermanentError, match="hundreds of attributes") as refused:
        parse_feed(body, url="https://a.example/feed")
    assert refused.value.code == "not_a_feed"


def test_attributes_and_texts_of_usual_feeds_are_let_through() -> None:
    assert has_endless_tag(f"<a {attributes(MOST_ATTRIBUTES + 1)}>")
    assert not has_endless_tag(f"<a {attributes(MOST_ATTRIBUTES)}>" * 50)
    prose = " ".join('&lt;a href="x"&gt;' for _ in range(5_000))
    assert not has_endless_tag(f"<item><description>{prose}</description></item>")
    assert not has_endless_tag("<![CDATA[" + '<a href="x">y</a>' * 5_000 + "]]>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_import_with_endless_attributes_is_refused(encoding: str) -> None:
    with pytest.raises(UsageError, match="hundreds of attributes"):
        parse_xml(f"<opml {attributes(300_000)}/>".encode(encoding))
