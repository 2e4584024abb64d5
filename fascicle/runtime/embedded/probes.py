"""Cheap questions that tell whether a server on the loopback address is up."""

import asyncio
from contextlib import suppress

from fascicle.runtime.embedded.ports import LOOPBACK


async def accepts_tcp(port: int) -> bool:
    """Whether something listens on the port."""
    with suppress(OSError):
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        await _close(writer)
        return True
    return False


async def http_status(port: int, path: str, host: str | None = None) -> int | None:
    """The status of a GET, or None when no answer came. `host` is the name that the server goes by."""
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
