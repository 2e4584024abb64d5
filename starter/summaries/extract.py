"""`fascicle extract`: the article in a page. Nothing is stored, no database is needed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.summaries.article import Article
from fascicle.domain.urls import parse_http_url
from fascicle.services.dependencies import standalone_articles
from fascicle.services.waiting import patiently
from fascicle.settings.settings import Settings
from starter.context import command, effective_settings
from starter.fics.saved_page import content_of
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note

_LARGEST = 20_000_000
_SHOWN = ("title", "author", "site_name", "published_at", "language", "words", "url", "extractor")


@command
async def extract(
    page: Annotated[str, typer.Argument(metavar="URL|FILE", help="An article's address, or its saved page.")],
    url: Annotated[str | None, typer.Option(help="Where a saved page is from.")] = None,
    as_json: AsJson = False,
) -> None:
    """The text of an article, without the rest of its page; or why there is none. Nothing is stored."""

    check_is_text(page)
    found = _facts(await _article(page, url))
    print_json(found) if as_json else _show(found)


async def _article(page: str, url: str | None) -> Article:
    settings = effective_settings()
    if "://" in page:
        return await _fetched(page, url, settings)
    body, place = _saved(Path(page))
    address = place if url is None else parse_http_url(url).geturl()
    async with standalone_articles(settings) as articles:
        return await articles.read(body, address)


async def _fetched(page: str, url: str | None, settings: Settings) -> Article:
    if url is not None:
        raise UsageError("wrong_usage", "--url says where a saved page is from: give a file with it.")
    address = parse_http_url(page).geturl()
    async with standalone_articles(settings) as articles:
        return await patiently(lambda: articles.extract(address), print_note)


def _saved(file: Path) -> tuple[bytes, str]:
    """The page's content and its file address."""
    try:
        return content_of(file, most=_LARGEST, what="page"), file.absolute().as_uri()
    except UsageError as error:
        raise UsageError(error.code, f"{error.message} Addresses begin with https://.") from error


def _facts(article: Article) -> dict[str, Any]:
    return {**article.model_dump(mode="json"), "words": article.words}


def _show(found: dict[str, Any]) -> None:
    print_facts({name: found[name] for name in _SHOWN if found[name] not in (None, "")})
    print_line("")
    print_line(plain(found["text"]))
