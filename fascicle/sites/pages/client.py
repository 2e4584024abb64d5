"""Fetching what items lead to: through a gate of its own for each host, apart from its feeds'."""

import asyncio
from functools import partial
from typing import Any

from fascicle.domain.ao3 import is_archive
from fascicle.domain.gate import GatePolicy
from fascicle.domain.item_page import OEmbed, PageMetadata, PageReading
from fascicle.domain.urls import page_host
from fascicle.runtime.http import HttpClient
from fascicle.sites.pages.fetching import Page, PageFetcher, judge_page
from fascicle.sites.pages.oembed import asking, parse_oembed, service_of, services
from fascicle.sites.pages.reading import read_page
from fascicle.sites.reading.readers import Readers, read_in_thread

CHILD = "fascicle.sites.pages.child"
_LONGEST_SECONDS = 60
# More does not make it surer.
_ENOUGH_FOR_A_LANGUAGE = 5_000


class Pages:
    """Reads in child processes, which start with the first page; in a thread if there are to be none."""

    def __init__(
        self,
        http: HttpClient,
        *,
        gate: GatePolicy,
        youtube: str,
        spotify: str,
        soundcloud: str,
        processes: int = 0,
        child: str = CHILD,
    ) -> None:
        self._http = http
        self._fetcher = PageFetcher(http, purpose="page", gate=gate)
        self._services = services(youtube=youtube, spotify=spotify, soundcloud=soundcloud)
        # Reading a page is a matter of the processor: several at once would only take longer each.
        self._reading = asyncio.Semaphore(1)
        self._readers = Readers(processes, child, longest_seconds=_LONGEST_SECONDS) if processes else None

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

    async def read(
        self, page: Page | None, *, with_text: bool, declared_language: str | None, feed_text: str
    ) -> PageReading:
        """What there is to know of a page; without one, the language of the feed's own text."""
        body, url = (page.body, page.url) if page else (b"", "")
        request: dict[str, Any] = {
            "content_type": page.content_type if page else None,
            "with_text": with_text,
            "declared_language": declared_language,
            "feed_text": feed_text[:_ENOUGH_FOR_A_LANGUAGE],
        }
        if not body and declared_language is not None:  # nothing that a parser would be needed for
            return PageReading(
                metadata=PageMetadata(url=url, content_type=page.content_type) if page else None
            )
        if self._readers is not None:
            payload = await self._readers.read(body, url=url, **request)
            return PageReading.model_validate_json(payload)
        reading = partial(read_page, body, url=url, **request)
        async with self._reading:
            return await read_in_thread(reading, body, url=url, seconds=_LONGEST_SECONDS)

    async def close(self) -> None:
        """Ends the processes at once; who waits for one gets a retryable error."""
        if self._readers is not None:
            await self._readers.close()
