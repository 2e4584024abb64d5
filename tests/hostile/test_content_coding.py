"""Bodies that grow when they are inflated: bounded in bytes, and others have their turn meanwhile."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable

import brotli
import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.gate import GatePolicy
from fascicle.net.content_coding import BodyTooLarge, BrokenCoding, UnwantedCoding, read_decoded
from fascicle.net.http import Gated, HttpClient, HttpLimits
from fascicle.net.local_gates import LocalGates
from fascicle.net.ssrf import HostGuard

STEP = 1 << 16
LONG = bytes(STEP) * 1_000  # 65 MB of zeros: 64 kB of gzip


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


def brotli_of(content: bytes) -> bytes:
    packed: bytes = brotli.compress(content, quality=1)
    return packed


async def in_chunks(body: bytes, size: int = STEP) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


@pytest.mark.parametrize("size", [1, 7, 1_000, STEP])
@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        (" X-GZIP ", gzip.compress),
        ("deflate", zlib.compress),
        ("identity, gzip", gzip.compress),
        ("utf-8", bytes),
        ("", bytes),
    ],
)
async def test_every_accepted_coding_is_undone(size: int, coding: str, pack: type[bytes]) -> None:
    text = "".join(f"line {n} of many\n" for n in range(500)).encode()
    assert await read_decoded(in_chunks(pack(text), size), coding, most=len(text)) == text
    with pytest.raises(BodyTooLarge):
        await read_decoded(in_chunks(pack(text), size), coding, most=len(text) - 1)


async def test_deflate_without_its_envelope_is_understood() -> None:
    assert await read_decoded(in_chunks(raw_deflate(b"a" * 5_000)), "deflate", most=5_000) == b"a" * 5_000


async def test_a_bomb_is_dropped_at_the_cap_and_others_have_their_turn() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            await read_decoded(in_chunks(gzip.compress(LONG)), "gzip", most=20 * STEP)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        counting.cancel()
    assert turns >= 20, "one turn for every 64 kB"
    assert peak < 50 * STEP


async def test_what_inflates_to_nothing_is_bounded_as_well() -> None:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    nothing = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH) + b"\x00\x00\x00\xff\xff" * 10_000
    with pytest.raises(BodyTooLarge):
        await read_decoded(in_chunks(nothing, 1_000), "gzip", most=10_000)


@pytest.mark.parametrize(
    "coding", ["gzip, gzip", "br, br", "deflate,gzip", "gzip, identity, br", "br", "zstd"]
)
async def test_only_one_coding_and_only_one_that_was_asked_for(coding: str) -> None:
    with pytest.raises(UnwantedCoding):
        await read_decoded(in_chunks(b"never read"), coding, most=100)


async def test_garbage_is_no_gzip() -> None:
    with pytest.raises(BrokenCoding):
        await read_decoded(in_chunks(b"no gzip"), "gzip", most=100)


class _Bomber:
    """Answers every request with one body; `asked` is what the requests were."""

    def __init__(self, coding: str, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._answer = head.encode() + body
        self.asked: list[str] = []

    async def __aenter__(self) -> "_Bomber":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(self._answer)
        writer.close()


@pytest.mark.parametrize(
    ("coding", "pack", "code"),
    [
        ("gzip", gzip.compress, "too_large"),
        ("deflate", raw_deflate, "too_large"),
        ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body)), "unwanted_encoding"),
        ("br, br", lambda body: brotli_of(brotli_of(body)), "unwanted_encoding"),
        ("br", brotli_of, "unwanted_encoding"),
    ],
)
async def test_the_client_drops_every_bomb(coding: str, pack: Callable[[bytes], bytes], code: str) -> None:
    client = HttpClient(
        gates=LocalGates(),
        guard=HostGuard(["127.0.0.1"]),
        user_agent="Test/1.0",
        limits=HttpLimits(max_bytes=20 * STEP),
    )
    async with _Bomber(coding, pack(LONG)) as bomber:
        tracemalloc.start()
        try:
            with pytest.raises(PermanentError) as dropped:
                await client.get(bomber.url, Gated("bombs", GatePolicy(floor=0)))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            await client.aclose()
    assert dropped.value.code == code
    assert peak < 100 * STEP
    assert "accept-encoding: gzip, deflate\r\n" in bomber.asked[0]
