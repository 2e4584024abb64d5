"""The one HTTP client (X4): gate, SSRF guard, caps, honest User-Agent; failures are raised as our errors."""

import asyncio
import dataclasses
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urljoin

import httpx
import orjson

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy, Slot
from fascicle.domain.urls import parse_http_url, place
from fascicle.net.answers import Answer, raise_for_status
from fascicle.net.content_coding import (
    ACCEPTED,
    BodyTooLarge,
    BrokenCoding,
    UnwantedCoding,
    read_decoded,
)
from fascicle.net.ssrf import HostGuard, guarded_transport
from fascicle.process.logs import get_logger

log = get_logger("fascicle.http")

_REDIRECTS = (301, 302, 303, 307, 308)
_PERMANENT = (301, 308)
# An extension of a request: a function that says whether to read the answer's body.
_IS_WANTED = "fascicle.is_wanted"

# After any other error the request may have arrived, whatever was answered.
NEVER_SENT = frozenset({"gate_wait", "dns_failed", "connect_failed", "blocked_address", "store_down"})
# Errors that say nothing about the site: faults of our own network or our own store.
_NOT_THE_SITE = frozenset({"dns_failed", "store_down"})


@dataclass(frozen=True)
class StreamedBody:
    """A request's body that is never held in memory as a whole."""

    chunks: AsyncIterator[bytes]
    length: int
    content_type: str


@dataclass(frozen=True)
class Gated:
    """The gate that a site's requests pass."""

    name: str
    policy: GatePolicy


GateOf = Callable[[str], Gated]
# The gate that an address has for every caller, if it has one.
HouseGate = Callable[[str], Gated | None]
Judge = Callable[[Answer], Awaitable[None] | None]


class GateBook(Protocol):
    """Keeps the gates: in the database for all workers, or in memory for one command (see `local_gates`)."""

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot: ...

    async def returned(self, name: str, policy: GatePolicy, turn: int) -> None: ...

    async def blocked(self, name: str) -> Slot | None: ...

    async def succeeded(self, name: str, policy: GatePolicy) -> None: ...

    async def failed(
        self,
        name: str,
        policy: GatePolicy,
        *,
        refused: bool = False,
        not_before: float | None = None,
        reason: str | None = None,
    ) -> float: ...


@dataclass(frozen=True)
class HttpLimits:
    timeout_seconds: float = 30
    max_bytes: int = 20_000_000
    max_redirects: int = 5
    gate_patience_seconds: float = 5


class HttpClient:
    def __init__(
        self,
        *,
        gates: GateBook,
        guard: HostGuard,
        user_agent: str,
        limits: HttpLimits,
        house_gate: HouseGate | None = None,
    ) -> None:
        self._gates = gates
        self._house_gate = house_gate
        self._limits = limits
        self._guard = guard
        self._user_agent = user_agent

    @functools.cached_property
    def _client(self) -> httpx.AsyncClient:
        """Created at the first request, because most commands send none."""
        return httpx.AsyncClient(
            transport=guarded_transport(self._guard),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": ACCEPTED},
            timeout=httpx.Timeout(self._limits.timeout_seconds),
            follow_redirects=False,
            trust_env=False,
        )

    async def aclose(self) -> None:
        if "_client" in vars(self):
            await self._client.aclose()

    async def get(
        self,
        url: str,
        gate: Gated | GateOf,
        *,
        params: Mapping[str, Any] | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Answer:
        """GET, redirects followed, each hop through the gate. Raises for every status but 2xx and 304.

        `gate` may be a function from address to gate, because a redirect may lead to another host.
        """
        conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in conditions.items() if value}
        request = self._request(url, params, headers)
        moved_to, for_good = None, True
        for _ in range(self._limits.max_redirects + 1):
            passed = gate if isinstance(gate, Gated) else gate(str(request.url))
            answer = await self._send_through_gate(request, passed, raise_for_status)
            if answer.status not in _REDIRECTS:
                return dataclasses.replace(answer, moved_to=moved_to)
            request = self._redirected(answer, headers)
            for_good = for_good and answer.status in _PERMANENT
            if for_good:
                moved_to = str(request.url)
        raise PermanentError(
            "too_many_redirects", f"{place(url)} redirects more than {self._limits.max_redirects} times."
        )

    async def send(
        self,
        method: str,
        url: str,
        gate: Gated,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        form: Sequence[tuple[str, str]] | None = None,
        body: StreamedBody | None = None,
        json: Any = None,
        judge: Judge | None = None,
        before_sending: Callable[[], Awaitable[None]] | None = None,
        timeout_seconds: float | None = None,
        patience_seconds: float | None = None,
        is_wanted: Callable[[Mapping[str, str]], bool] | None = None,
    ) -> Answer:
        """Send one request through the gate. A redirect is not followed, but returned like other answers.

        `judge` raises the errors of a site that has its own error format; if it must parse the body, it is a
        coroutine function and uses the sandbox. `before_sending` is called after the gate, when only the
        request itself is left to do. `patience_seconds`: how long to wait here for a turn at the gate; None:
        as long as the limits say. `is_wanted` decides by the answer's headers whether to read its body.
        """
        given = dict(headers or {})
        content: bytes | AsyncIterator[bytes] | None = None
        if form is not None:
            content = urlencode(form).encode()
            given["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            content = body.chunks
            given |= {"Content-Type": body.content_type, "Content-Length": str(body.length)}
        elif json is not None:
            content = orjson.dumps(json)
            given["Content-Type"] = "application/json"
        request = self._request(url, params, given, method=method, content=content)
        if timeout_seconds is not None:
            connecting = min(timeout_seconds, self._limits.timeout_seconds)
            allowed = httpx.Timeout(timeout_seconds, connect=connecting, pool=connecting)
            request.extensions["timeout"] = allowed.as_dict()
        if is_wanted is not None:
            request.extensions[_IS_WANTED] = is_wanted
        return await self._send_through_gate(
            request, gate, judge or raise_for_status, before_sending, timeout_seconds, patience_seconds
        )

    async def check_address(self, url: str) -> None:
        """Raise unless the guard allows the address: for addresses that another service fetches for us."""
        try:
            parts = parse_http_url(url)
        except UsageError as error:
            raise PermanentError("blocked_address", f"{place(url)[:200]!r} is no web address.") from error
        await self._guard.resolve(
            parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        )

    def _request(
        self,
        url: str,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        *,
        method: str = "GET",
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> httpx.Request:
        try:
            return self._client.build_request(method, url, params=params, headers=headers, content=content)
        except (ValueError, httpx.InvalidURL) as error:
            raise PermanentError("invalid_url", f"{place(url)[:200]!r} is no address: {error}") from error

    def _redirected(self, answer: Answer, headers: Mapping[str, str]) -> httpx.Request:
        try:
            return self._client.build_request("GET", _redirect_target(answer), headers=headers)
        except (ValueError, httpx.InvalidURL) as error:
            raise PermanentError("bad_answer", f"{answer.place} redirects to no address: {error}") from error

    async def _send_through_gate(
        self,
        request: httpx.Request,
        gate: Gated,
        judge: Judge,
        before_sending: Callable[[], Awaitable[None]] | None = None,
        timeout_seconds: float | None = None,
        patience_seconds: float | None = None,
    ) -> Answer:
        if self._house_gate is not None:
            gate = self._house_gate(str(request.url)) or gate
        patience = self._limits.gate_patience_seconds if patience_seconds is None else patience_seconds
        asked_at = time.monotonic()
        slot = await self._gates.reserve(gate.name, gate.policy, patience=patience)
        if not slot.granted:
            reason = slot.reason or f"waiting for a turn at {gate.name}"
            raise MustWait("gate_wait", reason, seconds=slot.seconds, refused=False, by_hand=slot.by_hand)
        await self._until_its_turn(slot, gate, asked_at, before_sending)
        try:
            answer = await self._send_and_return(request, gate, slot, timeout_seconds)
            judged = judge(answer)
            if judged is not None:
                await judged
        except FascicleError as error:
            await _without_losing_the_answer(self._report_failure(gate, error))
            raise
        await _without_losing_the_answer(self._report_success(gate, slot))
        return answer

    async def _send_and_return(
        self, request: httpx.Request, gate: Gated, slot: Slot, timeout_seconds: float | None
    ) -> Answer:
        usual = self._limits.timeout_seconds
        try:
            # The lease covers only the usual time, even if the caller allows more.
            return await self._send(request, usual if gate.policy.lease else timeout_seconds or usual)
        finally:
            await self._give_turn_back(slot, gate)

    async def _until_its_turn(
        self,
        slot: Slot,
        gate: Gated,
        asked_at: float,
        before_sending: Callable[[], Awaitable[None]] | None,
    ) -> None:
        """Wait until only the request is left to do. If it is not sent after all, give its turn back."""
        try:
            await self._wait_for(slot, gate)
            if before_sending is not None:
                await before_sending()
            _check_not_late(slot, gate, asked_at)
        except BaseException:
            await self._give_turn_back(slot, gate)
            raise

    async def _give_turn_back(self, slot: Slot, gate: Gated) -> None:
        if gate.policy.lease:
            await _without_losing_the_answer(self._gates.returned(gate.name, gate.policy, slot.turn))

    async def _wait_for(self, slot: Slot, gate: Gated) -> None:
        """Sleep until the slot's instant; then check whether the site has refused another request."""
        if slot.seconds <= 0:
            return
        await asyncio.sleep(slot.seconds)
        blocked = await self._gates.blocked(gate.name)
        if blocked is not None:
            reason = blocked.reason or f"{gate.name} asked us to wait"
            raise MustWait(
                "gate_wait", reason, seconds=blocked.seconds, refused=False, by_hand=blocked.by_hand
            )

    async def _send(self, request: httpx.Request, timeout_seconds: float) -> Answer:
        where = place(str(request.url))
        try:
            async with asyncio.timeout(timeout_seconds):
                response = await self._client.send(request, stream=True)
                try:
                    body = await self._read_capped(response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise RetryableError("timeout", f"{where} took longer than allowed.") from error
        except (httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise RetryableError(
                "connect_failed", f"{request.url.host} cannot be reached in time."
            ) from error
        except httpx.TimeoutException as error:
            raise RetryableError("timeout", f"{where} did not answer in time.") from error
        except httpx.InvalidURL as error:
            # The request's own address is valid, but httpx also parses a redirect that it does not follow.
            raise PermanentError(
                "blocked_address", f"{where} redirects to no web address: {error}"
            ) from error
        except httpx.ConnectError as error:
            raise RetryableError(
                "connect_failed", f"{request.url.host} cannot be reached: {error}"
            ) from error
        except httpx.LocalProtocolError as error:
            # The error's text repeats the header that cannot be sent, which may be a secret.
            raise RetryableError("connection_lost", f"{where} was sent what is no whole request.") from error
        except httpx.TransportError as error:
            raise RetryableError("connection_lost", f"{where} broke off: {error!r}") from error
        except BrokenCoding as error:
            raise RetryableError("bad_answer", f"{where} answered what cannot be decoded: {error}") from error
        except UnwantedCoding as error:
            raise PermanentError("unwanted_encoding", f"{where} {error}.") from error
        except BodyTooLarge as error:
            most = self._limits.max_bytes
            raise PermanentError("too_large", f"{where} is larger than {most:,} bytes.") from error
        return Answer(response.status_code, str(request.url), response.headers, body)

    async def _read_capped(self, response: httpx.Response) -> bytes:
        is_wanted = response.request.extensions.get(_IS_WANTED)
        if is_wanted is not None and not is_wanted(response.headers):
            return b""
        coding = response.headers.get("content-encoding", "")
        return await read_decoded(response.aiter_raw(), coding, most=self._limits.max_bytes)

    async def _report_success(self, gate: Gated, slot: Slot) -> None:
        if slot.strained:
            await self._gates.succeeded(gate.name, gate.policy)

    async def _report_failure(self, gate: Gated, error: FascicleError) -> None:
        """Only an error that says something about the site widens its gate; one missing page does not."""
        if isinstance(error, MustWait):
            error.seconds = await self._gates.failed(
                gate.name,
                gate.policy,
                refused=error.code in ("rate_limited", "blocked", "challenge"),
                not_before=error.seconds,
                reason=error.message,
            )
        elif error.retryable and error.code not in _NOT_THE_SITE:
            await self._gates.failed(gate.name, gate.policy)


def _check_not_late(slot: Slot, gate: Gated, asked_at: float) -> None:
    """With a lease, a late request must not start, because it may be another request's turn by now."""
    if gate.policy.lease and time.monotonic() - asked_at > slot.seconds + gate.policy.lateness:
        wait = gate.policy.usual_distance
        raise MustWait("gate_wait", f"missed its turn at {gate.name}", seconds=wait, refused=False)


async def _without_losing_the_answer(bookkeeping: Awaitable[None]) -> None:
    """The answer matters more than the gate's records: a renewed token, for example, is sent only once."""
    try:
        await bookkeeping
    except FascicleError as error:
        log.warning("gate_not_told", error=error.message)


def _redirect_target(answer: Answer) -> str:
    location = str(answer.headers.get("location", ""))
    if not location:
        raise RetryableError("bad_answer", f"{answer.place} redirects to nowhere.", http_status=answer.status)
    target = urljoin(answer.url, location)
    if not target.startswith(("http://", "https://")):
        raise PermanentError("blocked_address", f"{answer.place} redirects to {place(target)[:100]!r}.")
    return target
