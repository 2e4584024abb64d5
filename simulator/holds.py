"""Holding requests at one point until their release, so that a test can kill their client right there."""

import asyncio
from contextlib import suppress
from threading import Lock

from starlette.types import Message, Receive


class DroppedError(Exception):
    """The request must not go on: its connection ends without an answer."""


class Holds:
    """The requests that one fault holds. Any thread may release them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: list[_Held] = []

    def __len__(self) -> int:
        return len(self._held)

    def release(self, *, drop: bool = False) -> int:
        with self._lock:
            for held in self._held:
                held.loop.call_soon_threadsafe(held.let_go, drop)
            return len(self._held)

    async def keep(self, receive: Receive, seconds: float, *, late: bool) -> None:
        """Wait for the release, `seconds` at most; raises DroppedError if the request must not go on.

        A client that leaves drops its request, unless `late`. `receive` reports that the client left, so
        read the body from it before.
        """
        held = _Held(asyncio.get_running_loop())
        with self._lock:
            self._held.append(held)
        watching = None if late else asyncio.create_task(_drop_when_left(receive, held))
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(held.released.wait(), seconds)
        finally:
            if watching:
                watching.cancel()
            with self._lock:
                self._held.remove(held)
        if held.dropped:
            raise DroppedError


class _Held:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.released = asyncio.Event()
        self.dropped = False

    def let_go(self, drop: bool) -> None:
        """Only the first call counts: a second may come before the request has woken up."""
        if not self.released.is_set():
            self.dropped = drop
            self.released.set()


async def _drop_when_left(receive: Receive, held: _Held) -> None:
    message = await receive()
    while message["type"] != "http.disconnect":
        message = await receive()
    held.let_go(True)


async def buffered(receive: Receive) -> Receive:
    """Read the body now and replay it later, when the client may be gone already."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DroppedError
        body += message.get("body", b"")
        more = message.get("more_body", False)
    waiting: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def receive_buffered() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_buffered
