"""Heartbeats while an activity works, so that a dead worker is noticed in seconds, not minutes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from temporalio import activity

_EVERY_SECONDS = 3.0


@contextlib.asynccontextmanager
async def heartbeating(progress: Callable[[], Any] | None = None) -> AsyncIterator[None]:
    """Sends a heartbeat every few seconds, with `progress()` as its details."""

    async def beat() -> None:
        while True:
            # The start counts as the first; most activities end before a second one would be due.
            await asyncio.sleep(_EVERY_SECONDS)
            activity.heartbeat(*([progress()] if progress else []))

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
