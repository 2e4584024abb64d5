"""Memory of a long-lived process: the memory of a busy minute is given back after it.

Workflows that have left the cache are garbage with reference cycles. Python's collector finds them late,
because a worker lets it run rarely. And glibc keeps freed memory, in an arena for each thread.
"""

import asyncio
import ctypes
import gc
from contextlib import suppress
from typing import Any

_EVERY_SECONDS = 60.0
# glibc's name for the number of arenas, in malloc.h.
_M_ARENA_MAX = -8
_ARENAS = 2


def keep_few_arenas() -> None:
    """Call it before threads are started. It has no effect if the C library is not glibc."""
    with suppress(AttributeError):
        _libc().mallopt(_M_ARENA_MAX, _ARENAS)


async def give_back_now_and_then() -> None:
    while True:
        await asyncio.sleep(_EVERY_SECONDS)
        give_back()


def give_back() -> None:
    gc.collect()
    with suppress(AttributeError):
        _libc().malloc_trim(0)


def _libc() -> Any:
    return ctypes.CDLL(None)
