"""Waiting for a gate while a person waits for the command."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fascicle.domain.errors import MustWait

T = TypeVar("T")
_LONGEST_WAIT = 120.0


async def patiently(ask: Callable[[], Awaitable[T]], on_wait: Callable[[str], None]) -> T:
    """Repeat the request until it succeeds: sleep through short waits, as a person waits for the answer."""
    waited = 0.0
    while True:
        try:
            return await ask()
        except MustWait as wait:
            waited += wait.seconds
            if waited > _LONGEST_WAIT:
                raise
            on_wait(f"{wait.message}; waiting {wait.seconds:.0f} s")
            await asyncio.sleep(wait.seconds)
