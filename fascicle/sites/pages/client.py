"""Fetching what items lead to: through a gate of its own for each host, apart from its feeds'."""

import asyncio

from fascicle.domain.ao3 import is_archive
from fascicle.domain.gate import GatePolicy
from fascicle.domain.item_page import OEmbed, PageMetadata
from fascicle.domain.urls import page_host
from fascicle.runtime.http import HttpClient
from fascicle.sites.pages.fetching import Page, PageFetcher, judge_page
from fascicle.sites.pages.oembed import asking, parse_oembed, service_of, services


class Pages:
    def __init__(
        self, http: HttpClient, *, gate: GatePolicy, youtube: str, spotify: str, soundcloud: str
    ) -> None:
        self._http = http
        self._fetcher = PageFetcher(http, purpose="page", gate=gate)
        self._services = services(youtube=youtube, spotify=spotify, soundcloud=soundcloud)
        # Reading a page is a matter of the processor: several at once would only take longer each.
        self._reading = asyncio.Semaphore(1)

    def oembed_address(self, url: str) -> str | None:
        """Where to ask about it, if it is at a service that says more than its pages do."""
        service = service_of(url, self._services)
        return None if service is None else asking(service, url)

    def has_page(self, url: str) -> bool:
        """Whether a look at the page itself is worth it: YouTube's are huge, and ask for consent; AO3's feeds
        say all that its pages do, and whoever waits for a fic would wait for each look."""
        if is_archive(page_host(url)):
            return False
        service = service_of(url, self._services)
        return service is None or service.name != "youtube"

    async def fetch(self, url: str) -> Page:
        """The page, its redirects followed. What refuses us is permanent: no inbox waits for a picture."""
        service = service_of(url, self._services)
        return await self._fetcher.fetch(url if service is None else service.rebased(url))

    async def embedded(self, address: str) -> OEmbed:
        """What the service at that address of its oEmbed says."""
        answer = await self._http.send("GET", address, self._fetcher.gate_of(address), judge=judge_page)
        return parse_oembed(answer.body, url=address)

    async def metadata(self, page: Page) -> PageMetadata:
        from fascicle.sites.pages.metadata import page_metadata

        if not page.body:
            return PageMetadata(url=page.url, content_type=page.content_type)
        async with self._reading:
            return await asyncio.to_thread(
                page_metadata, page.body, url=page.url, content_type=page.content_type
            )

    async def text(self, page: Page) -> str | None:
        from fascicle.sites.pages.text import page_text

        async with self._reading:
            return await asyncio.to_thread(page_text, page.body, page.url, page.content_type)

    async def language(self, text: str) -> str | None:
        from fascicle.sites.pages.language import language_of

        async with self._reading:
            return await asyncio.to_thread(language_of, text)
