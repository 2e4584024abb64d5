"""Fetching what items lead to: through a gate of its own for each host, apart from its feeds'."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from fascicle.domain.ao3 import is_archive
from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.item_page import OEmbed, PageMetadata
from fascicle.domain.urls import page_host, parse_http_url, place
from fascicle.runtime.answers import Answer, raise_for_status
from fascicle.runtime.http import Gated, HttpClient
from fascicle.sites.pages.oembed import asking, parse_oembed, service_of, services

_REDIRECTS = (301, 302, 303, 307, 308)
_HOPS = 6
_HTML = ("text/html", "application/xhtml+xml")
# Redirects are followed at once; these gates are short.
_HOP_PATIENCE = 20.0
# `Accept` as browsers send it: some sites answer others with JSON, or not at all.
_HEADERS = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"}


@dataclass(frozen=True)
class Page:
    url: str
    """Where it was in the end."""
    content_type: str | None
    body: bytes
    """Empty if it is no HTML: what else there is behind an address is not read."""


class Pages:
    def __init__(
        self, http: HttpClient, *, gate: GatePolicy, youtube: str, spotify: str, soundcloud: str
    ) -> None:
        self._http = http
        self._gate = gate
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
        target = url if service is None else service.rebased(url)
        for hop in range(_HOPS):
            answer = await self._get(target, patience_seconds=_HOP_PATIENCE if hop else None)
            if answer.status not in _REDIRECTS:
                return Page(answer.url, answer.headers.get("content-type"), answer.body)
            target = _redirect_target(answer)
        raise PermanentError("too_many_redirects", f"{place(url)} redirects in a circle.")

    async def embedded(self, address: str) -> OEmbed:
        """What the service at that address of its oEmbed says."""
        answer = await self._http.send("GET", address, self._gate_of(address), judge=_judge)
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

    async def _get(self, url: str, *, patience_seconds: float | None) -> Answer:
        return await self._http.send(
            "GET",
            url,
            self._gate_of(url),
            headers=_HEADERS,
            judge=_judge,
            patience_seconds=patience_seconds,
            is_wanted=_is_html,
        )

    def _gate_of(self, url: str) -> Gated:
        try:
            host = parse_http_url(url).hostname
        except UsageError as error:
            raise PermanentError("blocked_address", f"{place(url)[:200]!r} is no web address.") from error
        return Gated(f"page:{host}", self._gate)


def _redirect_target(answer: Answer) -> str:
    try:
        return urljoin(answer.url, str(answer.headers.get("location", "")))
    except ValueError as error:
        raise PermanentError("bad_answer", f"{answer.place} redirects to no address.") from error


def _is_html(headers: Mapping[str, str]) -> bool:
    """A page that does not say what it is may be one."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return not kind or kind in _HTML


def _judge(answer: Answer) -> None:
    """Who wants to see a browser, or a login, gets no second visit: it says nothing about the host's load."""
    if answer.headers.get("cf-mitigated") == "challenge" or _is_challenge(answer):
        raise PermanentError(
            "challenge", f"{answer.place} wants to see a browser.", http_status=answer.status
        )
    if answer.status == 403:
        raise PermanentError("blocked", f"{answer.place} answered 403.", http_status=answer.status)
    raise_for_status(answer)


def _is_challenge(answer: Answer) -> bool:
    start = answer.body[:20_000]
    return answer.status in (403, 503) and (b"challenge-platform" in start or b"Just a moment" in start)
