"""Articles by their address: fetched by us or by Firecrawl, read in a process of their own, or in a thread if
there is to be none."""

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from fascicle.domain.ao3 import is_archive
from fascicle.domain.article import Article
from fascicle.domain.errors import PermanentError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.request_rule import MIN_WORDS
from fascicle.domain.urls import page_host, place
from fascicle.runtime.http import HttpClient
from fascicle.sites.articles.firecrawl import Firecrawl
from fascicle.sites.articles.kinds import check_kind, is_readable
from fascicle.sites.pages.fetching import PageFetcher
from fascicle.sites.reading.readers import Readers, read_in_thread

CHILD = "fascicle.sites.articles.child"


class Articles:
    def __init__(
        self,
        http: HttpClient,
        *,
        gate: GatePolicy,
        processes: int = 1,
        min_words: int = MIN_WORDS,
        firecrawl: Firecrawl | None = None,
        longest_seconds: float = 60,
        child: str = CHILD,
    ) -> None:
        self._fetcher = PageFetcher(http, purpose="article", gate=gate, is_wanted=_is_wanted)
        self._firecrawl = firecrawl
        self._readers = Readers(processes, child, longest_seconds=longest_seconds) if processes else None
        self._seconds = longest_seconds
        self._min_words = min_words

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that run at present."""
        return self._readers.pids if self._readers else []

    async def extract(self, url: str) -> Article:
        """The article at an address; a FascicleError that says what is there instead."""
        # Whoever fetches AO3's pages for us would not keep its distance.
        if self._firecrawl is not None and not is_archive(page_host(url)):
            scraped = await self._firecrawl.scrape(url)
            return await self._read(scraped.markdown.encode(), scraped.url, said=scraped.said)
        page = await self._fetcher.fetch(url)
        return await self.read(page.body, page.url, page.content_type)

    async def read(self, body: bytes, url: str, content_type: str | None = None) -> Article:
        """The article in a page that is at hand."""
        check_kind(body, url, content_type)
        if not body.strip():
            raise PermanentError("too_short", f"{place(url)[:200]} is empty.")
        return await self._read(body, url, content_type=content_type)

    async def close(self) -> None:
        """Ends the processes at once; who waits for one gets a retryable error."""
        if self._readers:
            await self._readers.close()

    async def _read(self, body: bytes, url: str, **request: Any) -> Article:
        if self._readers is None:
            return await self._in_thread(body, url, **request)
        payload = await self._readers.read(body, url=url, min_words=self._min_words, **request)
        return Article.model_validate_json(payload)

    async def _in_thread(self, body: bytes, url: str, **request: Any) -> Article:
        from fascicle.sites.articles.reading import read_article  # a second to import

        reading = partial(read_article, body, url=url, min_words=self._min_words, **request)
        return await read_in_thread(reading, body, url=url, seconds=self._seconds)


def _is_wanted(headers: Mapping[str, str]) -> bool:
    return is_readable(headers.get("content-type"))
