"""Parsing processes that have nothing to read at present."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

# A parser with its libraries takes as much memory as the worker, and half a second to start again.
IDLE_SECONDS = 60.0

C = TypeVar("C")


class IdleChildren(Generic[C]):
    """The child used last is used next; `discard` is called for a child that was idle for a minute."""

    def __init__(self, discard: Callable[[C], Awaitable[None]]) -> None:
        self._discard = discard
        self._timers: dict[C, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def append(self, child: C) -> None:
        self._timers[child] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end, child)

    def pop(self) -> C:
        child, timer = self._timers.popitem()
        timer.cancel()
        return child

    def __len__(self) -> int:
        return len(self._timers)

    def __iter__(self) -> Iterator[C]:
        return iter(self._timers)

    async def ended(self) -> None:
        """Wait until the children that are being discarded are gone."""
        await asyncio.gather(*self._ending)

    def _end(self, child: C) -> None:
        del self._timers[child]
        ending = asyncio.ensure_future(self._discard(child))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
