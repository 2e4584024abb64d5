"""Cheap checks whether a server on the loopback address is up."""

import asyncio
from contextlib import suppress

from fascicle.embedded.ports import LOOPBACK


async def accepts_tcp(port: int) -> bool:
    """Does a server listen on the port?"""
    with suppress(OSError):
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        await _close(writer)
        return True
    return False


async def http_status(port: int, path: str, host: str | None = None) -> int | None:
    """The status of a GET, or None if there was no answer. `host` is the name in the Host header."""
    with suppress(OSError, ValueError, IndexError):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        try:
            writer.write(f"GET {path} HTTP/1.0\r\nHost: {host or f'{LOOPBACK}:{port}'}\r\n\r\n".encode())
            return int((await reader.readline()).split()[1])
        finally:
            await _close(writer)
    return None


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
