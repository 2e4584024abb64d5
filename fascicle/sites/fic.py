"""Reads fics, one request at a time: each step's outcome is stored before the next request (F1, F3)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.fics.fic import Fic, FicCode, FicKind, FicRef, SeriesPage
from fascicle.domain.gate import GatePolicy
from fascicle.net.answers import Answer, raise_for_status, retry_after
from fascicle.net.http import Gated, HttpClient
from fascicle.sandbox import Reading, Sandbox
from fascicle.sandbox.limits import CRASHED, TIMEOUT

if TYPE_CHECKING:
    from fascicle.sites.fanficfare import FanFicFare

AO3_GATE = "ao3"
# More redirects than this never reach a page.
_MOST_HOPS = 6
_REDIRECTS = (301, 302, 303, 307, 308)
# How long each kind of refusal keeps us away if the archive names no time.
_STAY_AWAY = {FicCode.RATE_LIMITED: 300.0, FicCode.BLOCKED: 3600.0, FicCode.CHALLENGE: 900.0}
# Redirects of other sites are followed within the same call, because the waits at their gates are short.
_HOP_PATIENCE = 60.0
_HOPS = 4
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Elsewhere:
    """The page is at this address."""

    url: str


@dataclass(frozen=True)
class Fetched:
    """One of the pages that a reader needs."""

    url: str
    body: bytes


Outcome = Fic | SeriesPage | Elsewhere | Fetched


class Ao3:
    """The Archive of Our Own: one request per call, through the gate of the whole installation."""

    def __init__(self, http: HttpClient, sandbox: Sandbox, *, base_url: str, policy: GatePolicy) -> None:
        self._http = http
        self._sandbox = sandbox
        self._base = base_url
        self.gate = Gated(AO3_GATE, policy)

    async def fetch(self, ref: FicRef, url: str | None, *, hops: int) -> Outcome:
        """`url`: where an earlier request led; `hops`: the number of requests so far without a page."""
        if hops >= _MOST_HOPS:
            raise PermanentError("bad_redirect", f"{ref.url} redirects in a circle.")
        target = url or self._base + urlsplit(ref.url).path
        found: list[Outcome] = []

        async def judge(answer: Answer) -> None:
            found.append(await self._judged(answer, ref))

        await self._http.send(
            "GET",
            target,
            self.gate,
            headers={"Cookie": "view_adult=true"},
            judge=judge,
        )
        return found[0]

    def page_url(self, ref: FicRef, page: int) -> str:
        return f"{self._base}{urlsplit(ref.url).path}?page={page}"

    async def read_saved(self, ref: FicRef, body: bytes) -> Fic | SeriesPage:
        """The work or the page of a series that a person saved in a browser."""
        return await read_archive_page(self._sandbox, ref, body)

    async def _judged(self, answer: Answer, ref: FicRef) -> Outcome:
        if answer.status in _REDIRECTS:
            return self._redirected(answer, ref)
        try:
            return await read_archive_page(
                self._sandbox, ref, answer.body, status=answer.status, headers=answer.headers
            )
        except FascicleError as error:
            if error.code == FicCode.ADULT_GATE and "view_adult" not in answer.url:
                return Elsewhere(f"{answer.place}?view_adult=true")
            wait = _as_wait(error, answer)
            if wait is None:
                raise
            raise wait from error

    def _redirected(self, answer: Answer, ref: FicRef) -> Elsewhere:
        target = urljoin(answer.url, str(answer.headers.get("location", "")))
        if not target.startswith(f"{self._base}/"):
            raise PermanentError("bad_redirect", f"{ref.url} redirects to another site: {target[:200]}")
        path = urlsplit(target).path.removeprefix(urlsplit(self._base).path)
        if path == "/users/login":
            raise PermanentError(
                FicCode.LOGIN_REQUIRED, f"{ref.url} can be read only by those who are logged in to AO3."
            )
        if not re.fullmatch(rf"/(works/{ref.id}(/chapters/[0-9]+)?|series/{ref.id})", path):
            raise PermanentError("bad_redirect", f"{ref.url} redirects to another page: {path[:200]}")
        return Elsewhere(target)


async def read_archive_page(
    sandbox: Sandbox, ref: FicRef, body: bytes, *, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> Fic | SeriesPage:
    """The work or series on a page of the archive; otherwise an error whose code is a FicCode."""
    wanted: type[Fic] | type[SeriesPage] = SeriesPage if ref.kind is FicKind.SERIES else Fic
    telling = {name: value for name, value in headers.items() if name.lower() == "cf-mitigated"}
    try:
        return await sandbox.read(
            Reading.AO3_PAGE,
            body,
            wanted,
            place=ref.url,
            ref=ref.model_dump(mode="json"),
            status=status,
            headers=telling,
        )
    except PermanentError as error:
        if error.code not in (CRASHED, TIMEOUT):
            raise
        raise PermanentError(FicCode.PARSER_BROKEN, error.message) from error


def _as_wait(error: FascicleError, answer: Answer) -> MustWait | None:
    """A refusal that is not about this fic alone becomes a wait for all requests to the archive."""
    wait = retry_after(answer.headers)
    if error.code in _STAY_AWAY:
        seconds = wait if wait is not None else _STAY_AWAY[FicCode(error.code)]
        return MustWait(error.code, error.message, seconds=seconds, refused=True, http_status=answer.status)
    if error.code == FicCode.TRANSIENT and wait is not None:
        return MustWait(error.code, error.message, seconds=wait, refused=True, http_status=answer.status)
    return None


class OtherFicSites:
    """The sites that FanFicFare can read, from pages that we fetch for it."""

    def __init__(
        self, http: HttpClient, reader: "FanFicFare", *, bases: Mapping[str, str], policy: GatePolicy
    ) -> None:
        self._http = http
        self._reader = reader
        self._bases = bases
        self._policy = policy

    def gate_of(self, site: str) -> Gated:
        return Gated(site, self._policy)

    async def fetch(self, ref: FicRef, pages: Mapping[str, bytes]) -> Outcome:
        """The fic, or the next page that is needed for it."""
        read = await self._reader.read(ref, pages)
        return read if isinstance(read, Fic) else Fetched(read.url, await self._page(ref, read.url))

    async def read_saved(self, ref: FicRef, body: bytes) -> Fic:
        return await self._reader.read_saved(ref, body)

    async def look_up(self, ref: FicRef) -> FicRef:
        """The work that a part belongs to."""
        from fascicle.sites.fanficfare import wattpad_lookup_url, wattpad_story_of

        story = wattpad_story_of(await self._page(ref, wattpad_lookup_url(ref.id)))
        url = f"https://www.wattpad.com/story/{story}"
        return FicRef(site=ref.site, kind=FicKind.WORK, id=story, url=url)

    async def _page(self, ref: FicRef, url: str) -> bytes:
        from fascicle.sites.fanficfare import rebased

        target, patience = rebased(url, self._bases), None
        for _ in range(_HOPS):
            answer = await self._http.send(
                "GET", target, self.gate_of(ref.site), judge=_judge_other, patience_seconds=patience
            )
            if answer.status not in _REDIRECTS:
                return answer.body
            target, patience = _same_site(answer, ref), _HOP_PATIENCE
        raise PermanentError("bad_redirect", f"{ref.url} redirects in a circle.")


def _same_site(answer: Answer, ref: FicRef) -> str:
    target = urljoin(answer.url, str(answer.headers.get("location", "")))
    there, here = urlsplit(target), urlsplit(answer.url)
    if _site(there.netloc) != _site(here.netloc) or there.scheme not in ("http", "https"):
        raise PermanentError("bad_redirect", f"{ref.url} redirects to another site: {target[:200]}")
    return target


def _site(netloc: str) -> str:
    return netloc.lower().removeprefix("www.").removeprefix("m.")


def _judge_other(answer: Answer) -> None:
    if _is_challenge(answer):
        raise PermanentError(
            FicCode.CHALLENGE,
            f"{answer.place} wants to see a browser. Save the page with yours and hand it in: "
            "`fascicle fic add URL --page FILE`.",
            http_status=answer.status,
        )
    try:
        raise_for_status(answer)
    except RetryableError as error:
        if isinstance(error, MustWait) or error.code != "server_error":
            raise
        raise RetryableError(FicCode.TRANSIENT, error.message, http_status=answer.status) from error


def _is_challenge(answer: Answer) -> bool:
    if answer.headers.get("cf-mitigated") == "challenge":
        return True
    start = answer.body[:20_000]
    return answer.status in (403, 503) and (b"challenge-platform" in start or b"Just a moment" in start)
