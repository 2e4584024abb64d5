"""Documents read in child processes; what wears one of them out is told as an error of the document's."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fascicle.domain.errors import PermanentError
from fascicle.domain.urls import place
from fascicle.sites.reading.process import Children, Gone

T = TypeVar("T")
_TRIES = 2


class Readers:
    """At most so many processes, which start with the first document; `child` is the module they run."""

    def __init__(self, processes: int, child: str, *, longest_seconds: float) -> None:
        self._children = Children(processes, child)
        self._seconds = longest_seconds

    @property
    def pids(self) -> list[int]:
        """The processes that run at present."""
        return self._children.pids

    async def read(self, body: bytes, *, url: str, **request: Any) -> bytes:
        """What a process makes of it, as JSON; a PermanentError where it takes too much time or memory."""
        try:
            return await self._read(body, {"url": url, **request})
        except TimeoutError:
            raise too_slow(body, url, self._seconds) from None

    async def close(self) -> None:
        """Ends all processes at once; who waits for one gets a retryable error."""
        await self._children.close()

    async def _read(self, body: bytes, request: Mapping[str, Any]) -> bytes:
        for _ in range(_TRIES):
            try:
                return await self._children.read(body, request, self._seconds)
            except Gone:
                continue
        raise PermanentError(
            "parser_crashed",
            f"{place(request['url'])} cannot be read: its {len(body)} bytes end the process that reads them.",
        )


async def read_in_thread(reading: Callable[[], T], body: bytes, *, url: str, seconds: float) -> T:
    """Where there are to be no processes. A thread cannot be ended: one that is stuck is left behind."""
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(reading)
    except TimeoutError:
        raise too_slow(body, url, seconds) from None


def too_slow(body: bytes, url: str, seconds: float) -> PermanentError:
    return PermanentError(
        "parser_timeout",
        f"{place(url)} cannot be read: its {len(body)} bytes took longer than {seconds:g} s.",
    )
