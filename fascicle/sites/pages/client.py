"""Fetches pages that items link to: each host has a gate for pages, separate from its feeds' gate."""

from typing import Any

from fascicle.domain.feeds.item_page import OEmbed, PageMetadata, PageReading
from fascicle.domain.fics.ao3 import is_archive
from fascicle.domain.gate import GatePolicy
from fascicle.domain.urls import page_host
from fascicle.net.http import HttpClient
from fascicle.sandbox import Reading, Sandbox
from fascicle.sites.pages.fetching import Page, PageFetcher, judge_page
from fascicle.sites.pages.oembed import asking, parse_oembed, service_of, services

# A longer text does not make the result more certain.
_ENOUGH_FOR_A_LANGUAGE = 5_000


class Pages:
    def __init__(
        self,
        http: HttpClient,
        sandbox: Sandbox,
        *,
        gate: GatePolicy,
        youtube: str,
        spotify: str,
        soundcloud: str,
    ) -> None:
        self._http = http
        self._sandbox = sandbox
        self._fetcher = PageFetcher(http, purpose="page", gate=gate)
        self._services = services(youtube=youtube, spotify=spotify, soundcloud=soundcloud)

    def oembed_address(self, url: str) -> str | None:
        """The oEmbed address to ask, if the page is at a service whose oEmbed says more than its pages."""
        service = service_of(url, self._services)
        return None if service is None else asking(service, url)

    def has_page(self, url: str) -> bool:
        """Is it worth reading the page itself? YouTube's pages are huge and ask for consent. AO3's feeds say
        all that its pages do, and each look would delay the fics that wait for AO3's gate."""
        if is_archive(page_host(url)):
            return False
        service = service_of(url, self._services)
        return service is None or service.name != "youtube"

    async def fetch(self, url: str) -> Page:
        """The page after redirects. A refusal is permanent, because no inbox waits for a picture."""
        service = service_of(url, self._services)
        return await self._fetcher.fetch(url if service is None else service.rebased(url))

    async def embedded(self, address: str) -> OEmbed:
        """The service's answer at its oEmbed address."""
        answer = await self._http.send("GET", address, self._fetcher.gate_of(address), judge=judge_page)
        return parse_oembed(answer.body, url=address)

    async def read(
        self, page: Page | None, *, with_text: bool, declared_language: str | None, feed_text: str
    ) -> PageReading:
        """The facts of a page; without a page, the language of the feed's own text."""
        body, url = (page.body, page.url) if page else (b"", "")
        request: dict[str, Any] = {
            "content_type": page.content_type if page else None,
            "with_text": with_text,
            "declared_language": declared_language,
            "feed_text": feed_text[:_ENOUGH_FOR_A_LANGUAGE],
        }
        if not body and declared_language is not None:  # nothing to parse
            return PageReading(
                metadata=PageMetadata(url=url, content_type=page.content_type) if page else None
            )
        where = url or "a feed's text"
        return await self._sandbox.read(Reading.PAGE, body, PageReading, place=where, url=url, **request)
