"""Articles by their address: fetched by us or by Firecrawl, read in a parsing process."""

from collections.abc import Mapping
from typing import Any

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.ao3 import is_archive
from fascicle.domain.gate import GatePolicy
from fascicle.domain.summaries.article import Article
from fascicle.domain.summaries.request_rule import MIN_WORDS
from fascicle.domain.urls import page_host, place
from fascicle.net.http import HttpClient
from fascicle.sandbox import Reading, Sandbox
from fascicle.sites.articles.firecrawl import Firecrawl
from fascicle.sites.articles.kinds import check_kind, is_readable
from fascicle.sites.pages.fetching import PageFetcher


class Articles:
    def __init__(
        self,
        http: HttpClient,
        sandbox: Sandbox,
        *,
        gate: GatePolicy,
        min_words: int = MIN_WORDS,
        firecrawl: Firecrawl | None = None,
    ) -> None:
        self._fetcher = PageFetcher(http, purpose="article", gate=gate, is_wanted=_is_wanted)
        self._firecrawl = firecrawl
        self._sandbox = sandbox
        self._min_words = min_words

    async def extract(self, url: str) -> Article:
        """The article at an address, or a FascicleError that says what is there instead."""
        # Firecrawl would not keep the distance between requests to AO3.
        if self._firecrawl is not None and not is_archive(page_host(url)):
            scraped = await self._firecrawl.scrape(url)
            return await self._read(scraped.markdown.encode(), scraped.url, said=scraped.said)
        page = await self._fetcher.fetch(url)
        return await self.read(page.body, page.url, page.content_type)

    async def read(self, body: bytes, url: str, content_type: str | None = None) -> Article:
        """The article in a page that was fetched already."""
        check_kind(body, url, content_type)
        if not body.strip():
            raise PermanentError("too_short", f"{place(url)[:200]} is empty.")
        return await self._read(body, url, content_type=content_type)

    async def _read(self, body: bytes, url: str, **request: Any) -> Article:
        return await self._sandbox.read(
            Reading.ARTICLE, body, Article, place=url, url=url, min_words=self._min_words, **request
        )


def _is_wanted(headers: Mapping[str, str]) -> bool:
    return is_readable(headers.get("content-type"))
