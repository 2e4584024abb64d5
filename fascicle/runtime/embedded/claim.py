"""A lock that a child inherits: held for exactly as long as the child, or any descendant of it, lives.

It answers without guessing at process ids whether something of an earlier run is still there: the backends
of a killed PostgreSQL, or the children of a supervisor that was killed.
"""

import asyncio
import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from fascicle.runtime.embedded.errors import ProcessNotReady

_PROC = Path("/proc")
_KILL_SECONDS = 5.0


async def take_claim(path: Path, patience_seconds: float) -> int:
    """The locked file, to be passed to the next child and then closed here.

    Whatever holds it from before gets `patience_seconds` to end by itself, then SIGKILL.
    """
    patience_ends = time.monotonic() + patience_seconds
    while (claim := _try_lock(path)) is None:
        overdue = time.monotonic() - patience_ends
        if overdue > _KILL_SECONDS:
            raise ProcessNotReady(
                f"A process of an earlier run holds {path} and cannot be ended. End it by hand."
            )
        if overdue > 0:
            await asyncio.to_thread(_kill_holders, path)
        await asyncio.sleep(0.02)
    return claim


def write_holder(claim: int, pid: int) -> None:
    """Note who got the claim: for a reader, and for systems without /proc."""
    os.ftruncate(claim, 0)
    os.pwrite(claim, f"{pid}\n".encode(), 0)


def _try_lock(path: Path) -> int | None:
    claim = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(claim)
        return None
    return claim


def _kill_holders(path: Path) -> None:
    if not _PROC.is_dir():
        with suppress(ValueError, ProcessLookupError, PermissionError):
            os.killpg(int(path.read_text()), signal.SIGKILL)
        return
    for process in _PROC.iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid() and _has_open(process, path):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(process.name), signal.SIGKILL)


def _has_open(process: Path, path: Path) -> bool:
    # Another user's process cannot be looked into, and one may end while it is looked at.
    with suppress(OSError):
        return any(link.readlink() == path for link in (process / "fd").iterdir())
    return False
