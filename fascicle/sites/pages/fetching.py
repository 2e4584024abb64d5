"""Fetches pages and follows redirects: each hop passes its host's gate and the guard."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.urls import parse_http_url, place
from fascicle.net.answers import Answer, raise_for_status
from fascicle.net.http import Gated, HttpClient

_REDIRECTS = (301, 302, 303, 307, 308)
_HOPS = 6
_HTML = ("text/html", "application/xhtml+xml")
# Redirects are followed within the same call, because the waits at these gates are short.
_HOP_PATIENCE = 20.0
# `Accept` as browsers send it: some sites answer other clients with JSON or not at all.
_HEADERS = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"}


@dataclass(frozen=True)
class Page:
    url: str
    """The address after redirects."""
    content_type: str | None
    body: bytes
    """Empty if the content type is not wanted: other documents are not read."""


def media_type(content_type: str | None) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`; empty if there is none."""
    return (content_type or "").partition(";")[0].strip().lower()


def is_html(headers: Mapping[str, str]) -> bool:
    """Can it be HTML? An answer without a content type may be a page."""
    kind = media_type(headers.get("content-type"))
    return not kind or kind in _HTML


class PageFetcher:
    """Its gates' names begin with `purpose`, so that one purpose does not delay another."""

    def __init__(
        self,
        http: HttpClient,
        *,
        purpose: str,
        gate: GatePolicy,
        is_wanted: Callable[[Mapping[str, str]], bool] = is_html,
    ) -> None:
        self._http = http
        self._purpose = purpose
        self._gate = gate
        self._is_wanted = is_wanted

    async def fetch(self, url: str) -> Page:
        """The page after redirects. A refusal is permanent, because the next request would be refused too."""
        target = url
        for hop in range(_HOPS):
            answer = await self._get(target, patience_seconds=_HOP_PATIENCE if hop else None)
            if answer.status not in _REDIRECTS:
                return Page(answer.url, answer.headers.get("content-type"), answer.body)
            target = _redirect_target(answer)
        raise PermanentError("too_many_redirects", f"{place(url)} redirects in a circle.")

    def gate_of(self, url: str) -> Gated:
        try:
            host = parse_http_url(url).hostname
        except UsageError as error:
            raise PermanentError("blocked_address", f"{place(url)[:200]!r} is no web address.") from error
        return Gated(f"{self._purpose}:{host}", self._gate)

    async def _get(self, url: str, *, patience_seconds: float | None) -> Answer:
        return await self._http.send(
            "GET",
            url,
            self.gate_of(url),
            headers=_HEADERS,
            judge=judge_page,
            patience_seconds=patience_seconds,
            is_wanted=self._is_wanted,
        )


def judge_page(answer: Answer) -> None:
    """A page that wants a browser or a login is a permanent error: it says nothing about the host's load."""
    if answer.headers.get("cf-mitigated") == "challenge" or _is_challenge(answer):
        raise PermanentError(
            "challenge", f"{answer.place} wants to see a browser.", http_status=answer.status
        )
    if answer.status == 403:
        raise PermanentError("blocked", f"{answer.place} answered 403.", http_status=answer.status)
    raise_for_status(answer)


def _redirect_target(answer: Answer) -> str:
    try:
        return urljoin(answer.url, str(answer.headers.get("location", "")))
    except ValueError as error:
        raise PermanentError("bad_answer", f"{answer.place} redirects to no address.") from error


def _is_challenge(answer: Answer) -> bool:
    start = answer.body[:20_000]
    return answer.status in (403, 503) and (b"challenge-platform" in start or b"Just a moment" in start)
