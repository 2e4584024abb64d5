"""A crawler's result for a page of the press: its markdown and its metadata."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from simulator.ids import derived_id
from simulator.press import Article, Press
from simulator.press.layout import RELATED, SECTIONS
from simulator.press.pages import LOGIN_TEXT, NOT_FOUND_TEXT, NOT_FOUND_TITLE, error_text, listed, teaser
from simulator.press.press import UnknownArticleError
from simulator.press.records import PREFIX

ARTICLES = f"{PREFIX}/articles/"
HTML = "text/html; charset=utf-8"
CONTENT_TYPES = {"pdf": "application/pdf", "image": "image/png"}


class UnreachableError(Exception):
    """The crawler gave up; `status` is the status of its answer."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Scraped:
    title: str
    markdown: str
    status: int = 200
    language: str = "en"
    content_type: str = HTML

    def document(self, address: str, credits_used: float) -> dict[str, Any]:
        metadata = {
            "title": self.title,
            "language": self.language,
            "sourceURL": address,
            "url": address,
            "statusCode": self.status,
            "contentType": self.content_type,
            "scrapeId": derived_id("scrape", address),
            "proxyUsed": "basic",
            "cacheState": "miss",
            "creditsUsed": credits_used,
        }
        return {"markdown": self.markdown, "metadata": metadata}


def scrape(press: Press, address: str, *, only_main: bool) -> Scraped:
    """The article of that path, on any host; for any other address, the page is a 404."""
    path = urlsplit(address).path
    try:
        article = press.article(path.removeprefix(ARTICLES) if path.startswith(ARTICLES) else "")
    except UnknownArticleError:
        return _error_page(404)
    if article.kind == "status":
        return _error_page(article.status)
    if article.kind in ("redirect", "redirect_loop"):
        raise UnreachableError(500)
    if article.kind == "endless":
        raise UnreachableError(408)
    return _page(article, only_main=only_main)


def _page(article: Article, *, only_main: bool) -> Scraped:
    main = _markdown(article)
    is_page = article.kind not in CONTENT_TYPES
    return Scraped(
        title=NOT_FOUND_TITLE if article.kind == "soft_404" else article.title,
        markdown=_with_surroundings(main) if is_page and not only_main else main,
        language=article.language,
        content_type=CONTENT_TYPES.get(article.kind, HTML),
    )


def _markdown(article: Article) -> str:
    match article.kind:
        case "image":
            return ""
        case "soft_404":
            return _paragraphs(f"# {NOT_FOUND_TITLE}", NOT_FOUND_TEXT)
        case "login":
            return _paragraphs(f"# {article.title}", teaser(article), f"## {LOGIN_TEXT}", "Email", "Password")
        case "listing":
            links = "\n".join(f"- [{name}]({PREFIX}/related/{at})" for at, name in enumerate(listed()))
            return _paragraphs(f"# {article.title}", links)
        case "pdf":
            return f"# {article.title}"
        case _:
            return _paragraphs(f"# {article.title}", f"By {article.author}", *article.body)


def _with_surroundings(main: str) -> str:
    menu = "\n".join(f"- [{name}]({PREFIX}/{name.lower()})" for name in SECTIONS)
    related = "\n".join(f"- [{name}]({PREFIX}/related/{at})" for at, name in enumerate(RELATED))
    return _paragraphs(menu, main, "## Most read", related, "All rights reserved.")


def _error_page(status: int) -> Scraped:
    title = NOT_FOUND_TITLE if status == 404 else f"Error {status}"
    return Scraped(title, _paragraphs(f"# {title}", error_text(status)), status)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(parts)
