"""The HTTP client against the simulator and its faults (X4, C9)."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.net.answers import retry_after
from fascicle.net.http import Gated, HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.storage.database import open_engine
from fascicle.storage.operations.gate import Gates
from simulator.ao3.records import WorkSpec
from simulator.faults import Fault
from simulator.server import RunningSimulator

GATE = Gated("test", GatePolicy(floor=0))
LIMITS = HttpLimits(timeout_seconds=1, max_bytes=20_000, max_redirects=3, gate_patience_seconds=2)


@pytest.fixture
async def gates(database_url: str) -> AsyncIterator[Gates]:
    engine = open_engine(database_url)
    yield Gates(engine)
    await engine.dispose()


@pytest.fixture
async def http(gates: Gates) -> AsyncIterator[HttpClient]:
    client = HttpClient(
        gates=gates, guard=HostGuard(["127.0.0.1"]), user_agent="Test/1.0 (tests)", limits=LIMITS
    )
    yield client
    await client.aclose()


def url(simulator: RunningSimulator, path: str = "/mangadex/manga") -> str:
    return simulator.url + path


@pytest.mark.parametrize(
    ("fault", "family", "code"),
    [
        ({"status": 500}, RetryableError, "server_error"),
        ({"status": 502}, RetryableError, "server_error"),
        ({"status": 503}, RetryableError, "server_error"),
        ({"status": 408}, RetryableError, "server_error"),
        ({"status": 429, "retry_after": 7}, MustWait, "rate_limited"),
        ({"status": 503, "retry_after": 7}, MustWait, "unavailable"),
        ({"status": 403}, MustWait, "blocked"),
        ({"status": 404}, PermanentError, "not_found"),
        ({"status": 410}, PermanentError, "not_found"),
        ({"status": 401}, PermanentError, "auth_failed"),
        ({"status": 400}, PermanentError, "bad_request"),
        ({"kind": "reset"}, RetryableError, "connection_lost"),
        ({"kind": "truncated"}, RetryableError, "connection_lost"),
        ({"kind": "delay", "delay": 3}, RetryableError, "timeout"),
    ],
)
async def test_c9_every_failure_has_a_family_and_a_code(
    http: HttpClient,
    simulator: RunningSimulator,
    fault: dict[str, Any],
    family: type[FascicleError],
    code: str,
) -> None:
    simulator.faults.add(Fault.model_validate(fault))
    with pytest.raises(family) as failed:
        await http.get(url(simulator), GATE)
    assert failed.value.code == code
    assert failed.value.retryable is issubclass(family, RetryableError)


@pytest.mark.parametrize("kind", ["html", "half_json"])
async def test_c9_garbage_with_status_200_is_retryable(
    http: HttpClient, simulator: RunningSimulator, kind: str
) -> None:
    simulator.faults.add(Fault.model_validate({"kind": kind}))
    answer = await http.get(url(simulator), GATE)
    with pytest.raises(RetryableError, match="not JSON"):
        answer.json()


async def test_c9_nothing_listening_and_unknown_names_are_retryable(http: HttpClient, gates: Gates) -> None:
    with pytest.raises(RetryableError) as refused:
        await http.get("http://127.0.0.1:1/", GATE)
    assert refused.value.code == "connect_failed"
    with pytest.raises(RetryableError) as unknown:
        await http.get(f"http://{'a' * 70}.example/", GATE)  # too long a label: no resolver is asked
    assert unknown.value.code == "dns_failed"


async def test_c9_retry_after_holds_back_everyone_who_passes_the_gate(
    http: HttpClient, simulator: RunningSimulator
) -> None:
    simulator.faults.add(Fault(status=429, retry_after=60, count=1))
    with pytest.raises(MustWait) as first:
        await http.get(url(simulator), GATE)
    assert first.value.refused
    assert first.value.seconds == 60
    with pytest.raises(MustWait) as second:
        await http.get(url(simulator), GATE)
    assert not second.value.refused
    assert 58 < second.value.seconds <= 61
    assert len(simulator.requests.matching("/mangadex")) == 1, "the second never left"


async def test_x4_requests_are_kept_apart_by_the_gate(http: HttpClient, simulator: RunningSimulator) -> None:
    gate = Gated("spaced", GatePolicy(floor=0.5))
    await asyncio.gather(*(http.get(url(simulator), gate) for _ in range(3)))
    times = sorted(request.monotonic for request in simulator.requests.matching("/mangadex"))
    # They leave half a second apart; a busy machine may hold one of them up on its way.
    assert all(b - a > 0.25 for a, b in pairwise(times))


async def test_x4_the_user_agent_is_honest_and_via_is_absent(
    http: HttpClient, simulator: RunningSimulator
) -> None:
    await http.get(url(simulator), GATE)
    [request] = simulator.requests.matching("/mangadex")
    assert request.headers["user-agent"] == "Test/1.0 (tests)"


class Handmade:
    """A server that says exactly what a test wants, byte for byte."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []

    async def __aenter__(self) -> "Handmade":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.answers[min(len(self.requests), len(self.answers)) - 1])
        await writer.drain()
        writer.close()


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def test_x4_redirects_are_followed_and_each_hop_passes_the_gate(http: HttpClient) -> None:
    moved = answer("302 Found", "Location: /next")
    async with Handmade(moved, answer("200 OK", body=b"here")) as server:
        began = time.monotonic()
        got = await http.get(server.url, Gated("hops", GatePolicy(floor=0.3)))
        assert (got.body, len(server.requests)) == (b"here", 2)
        assert time.monotonic() - began > 0.25


async def test_x4_endless_redirects_end(http: HttpClient) -> None:
    async with Handmade(answer("302 Found", "Location: /again")) as server:
        with pytest.raises(PermanentError) as lost:
            await http.get(f"{server.url}?auth=secret", GATE)
        assert lost.value.code == "too_many_redirects"
        assert "secret" not in lost.value.message
        assert len(server.requests) == LIMITS.max_redirects + 1


@pytest.mark.parametrize(
    "target",
    [
        *("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "file:///etc/passwd", "gopher://x"),
        *(
            "mailto:a@b.example",
            "javascript:alert(1)",
            "http:host",
            "data:text/html,x",
            "tel:1",
            "about:blank",
        ),
    ],
)
async def test_x4_a_redirect_into_a_private_place_is_refused(http: HttpClient, target: str) -> None:
    async with Handmade(answer("302 Found", f"Location: {target}")) as server:
        with pytest.raises(PermanentError) as blocked:
            await http.get(server.url, GATE)
        assert blocked.value.code == "blocked_address"


@pytest.mark.parametrize("target", ["mailto:a@b.example", "javascript:alert(1)", "http:host"])
async def test_x4_an_answer_that_redirects_to_no_address_has_a_code_where_none_is_followed(
    http: HttpClient, target: str
) -> None:
    async with Handmade(answer("302 Found", f"Location: {target}")) as server:
        with pytest.raises(PermanentError) as blocked:
            await http.send("GET", server.url, GATE)
        assert blocked.value.code == "blocked_address"


@pytest.mark.parametrize("status", ["429 Too Many", "503 Busy"])
@pytest.mark.parametrize(
    "value", ["9" * 5000, "Mon, 16 Nov 99999999999999999999 00:00:00 GMT", "Fri, 31 Dec 9999 23:00:00 -0500"]
)
async def test_c9_an_absurd_retry_after_changes_no_code(http: HttpClient, status: str, value: str) -> None:
    async with Handmade(answer(status, f"Retry-After: {value}")) as server:
        with pytest.raises(RetryableError) as refused:
            await http.get(server.url, Gated(f"absurd {status} {value[:9]}", GatePolicy(floor=0)))
    assert refused.value.code in ("rate_limited", "unavailable", "server_error")
    assert getattr(refused.value, "seconds", 0) <= 86_400


@pytest.mark.parametrize("target", ["http://[oops/", "http://x:port/", "//"])
async def test_x4_a_redirect_to_no_address_is_an_error_of_the_site(http: HttpClient, target: str) -> None:
    async with Handmade(answer("302 Found", f"Location: {target}")) as server:
        with pytest.raises(FascicleError):
            await http.get(server.url, GATE)


async def test_c9_a_corrupt_body_is_retryable(http: HttpClient) -> None:
    async with Handmade(answer("200 OK", "Content-Encoding: gzip", body=b"not gzip")) as server:
        with pytest.raises(RetryableError) as garbled:
            await http.get(server.url, GATE)
        assert garbled.value.code == "bad_answer"


async def test_c9_a_slot_granted_before_the_site_said_stop_is_not_used(
    http: HttpClient, gates: Gates, simulator: RunningSimulator
) -> None:
    gate = Gated("spaced", GatePolicy(floor=0.5))
    await http.get(url(simulator), gate)
    waiting = asyncio.create_task(http.get(url(simulator), gate))
    await asyncio.sleep(0.2)
    await gates.failed("spaced", gate.policy, not_before=30, reason="somebody else got a 429")
    with pytest.raises(MustWait, match="somebody else"):
        await waiting
    assert len(simulator.requests.matching("/mangadex")) == 1


async def _is_late() -> None:
    await asyncio.sleep(0.2)


async def _breaks() -> None:
    raise RetryableError("store_down", "the file is gone")


@pytest.mark.parametrize(("before_sending", "code"), [(_is_late, "gate_wait"), (_breaks, "store_down")])
async def test_f3_who_does_not_go_after_all_keeps_nobody_waiting(
    http: HttpClient,
    gates: Gates,
    simulator: RunningSimulator,
    before_sending: Callable[[], Awaitable[None]],
    code: str,
) -> None:
    gate = Gated("one at a time", GatePolicy(floor=1, lease=60, lateness=0.1))
    with pytest.raises(RetryableError) as left:
        await http.send("GET", url(simulator), gate, before_sending=before_sending)
    assert left.value.code == code
    assert len(simulator.requests.matching("/mangadex")) == 0
    following = await gates.reserve(gate.name, gate.policy, patience=2)
    assert following.granted, "the lease is given back"
    assert 0.5 < following.seconds <= 1, "the distance is kept all the same"


async def test_f3_an_address_with_a_gate_of_its_own_is_reached_by_no_other(
    gates: Gates, simulator: RunningSimulator
) -> None:
    house = Gated("house", GatePolicy(floor=0.3, lease=5))
    client = HttpClient(
        gates=gates,
        guard=HostGuard(["127.0.0.1"]),
        user_agent="Test/1.0 (tests)",
        limits=LIMITS,
        house_gate=lambda address: house if "/ao3/" in address else None,
    )
    feed, page = Gated("feed", GatePolicy(floor=0)), Gated("page", GatePolicy(floor=0))
    work = url(simulator, f"/ao3/works/{simulator.ao3.add_work(WorkSpec(title='A')).id}")
    await client.get(work, lambda _: feed)
    await client.send("GET", work, page, timeout_seconds=60)
    first, second = simulator.requests.matching("/ao3")
    assert second.monotonic - first.monotonic >= 0.3
    simulator.faults.add(Fault(path="/ao3", kind="delay", delay=3))
    with pytest.raises(RetryableError) as late:
        await client.send("GET", work, page, timeout_seconds=60)
    assert late.value.code == "timeout", "no request outlives the lease, whatever its caller allows"
    await client.aclose()


async def test_x4_a_small_bomb_does_not_become_a_large_one(http: HttpClient) -> None:
    bomb = gzip.compress(b"0" * 5_000_000)
    async with Handmade(answer("200 OK", "Content-Encoding: gzip", body=bomb)) as server:
        with pytest.raises(PermanentError) as large:
            await http.get(f"{server.url}?auth=secret", GATE)
        assert large.value.code == "too_large"
        assert "secret" not in large.value.message


async def test_x5_what_is_no_address_is_named_without_its_query(http: HttpClient) -> None:
    with pytest.raises(PermanentError) as refused:
        await http.get("https://feeds.test:port/a?auth=secret", GATE)
    assert (refused.value.code, "secret" in refused.value.message) == ("invalid_url", False)


async def test_conditional_requests_carry_the_validators_and_take_304(http: HttpClient) -> None:
    async with Handmade(answer("304 Not Modified", 'ETag: "b"')) as server:
        got = await http.get(server.url, GATE, etag='"a"', last_modified="Mon, 16 Nov 2026 00:00:00 GMT")
        assert got.not_modified
        assert 'if-none-match: "a"' in server.requests[0].lower()
        assert "if-modified-since: mon, 16 nov 2026" in server.requests[0].lower()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7200"}, 7200),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "999999999"}, 86400),
        ({"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)}, 3600),
        ({"retry-after": format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)}, 0),
        ({"x-ratelimit-retry-after": str(int(time.time()) + 3600)}, 3600),
    ],
)
def test_c9_retry_after_in_all_its_forms(headers: dict[str, str], expected: float | None) -> None:
    wait = retry_after(headers)
    assert wait == (None if expected is None else pytest.approx(expected, abs=900))
