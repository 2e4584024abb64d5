"""Connections whose request never ends cost the worker neither its files nor its pages."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from fascicle.process.open_files import raise_limit
from fascicle.web import slow_clients
from fascicle.web.bodies import read_body
from fascicle.web.ops import CorrelatedRequests
from fascicle.web.serving import serving

HALF_SENT = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"GET /", id="part of a line"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n", id="headers without end"),
    pytest.param(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", id="part of a body"),
]


async def _echo(request: Request) -> PlainTextResponse:
    return PlainTextResponse(await read_body(request, 100))


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    app = CorrelatedRequests(Starlette(routes=[Route("/", _echo, methods=["GET", "POST"])]))
    async with serving(app, "127.0.0.1", port):
        yield port


@pytest.mark.parametrize("sent", HALF_SENT)
async def test_a_request_that_does_not_end_is_ended(
    port: int, sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slow_clients, "REQUEST_SECONDS", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()
    assert await _answer(port, content=b"whole") == "whole"
    assert not caplog.records, "a caller that leaves is no error"


async def test_the_oldest_unfinished_connections_make_room(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_clients, "MOST_CONNECTIONS", 20)
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(60)]
    for _, writer in held:
        writer.write(b"GET / HTTP/1.1\r\n")
    assert await _answer(port) == ""
    ended = [reader for reader, _ in held[:40]]
    for reader in ended:
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 10) == b""
    assert not any(reader.at_eof() for reader, _ in held[-19:])
    for _, writer in held:
        writer.close()


async def test_a_slow_request_that_ends_in_time_is_answered(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in (
        b"POST / HT",
        b"TP/1.1\r\nHost: x\r\nConten",
        b"t-Length: 4\r\nConnection: close\r\n\r\nte",
        b"xt",
    ):
        writer.write(part)
        await asyncio.sleep(0.02)
    answer = await asyncio.wait_for(reader.read(), 10)
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"text")
    writer.close()


@pytest.fixture
def _few_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_few_open_files")
def test_the_usual_limit_of_open_files_is_raised() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(16_384, hard)


async def _answer(port: int, content: bytes = b"") -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://127.0.0.1:{port}/", content=content)
        return answer.raise_for_status().text
