"""A lock that a child inherits: held for exactly as long as the child, or any descendant of it, lives.

It tells, without guessing by process ids, whether a process of an earlier run is still alive: a backend of a
killed PostgreSQL, or a child of a killed supervisor.
"""

import asyncio
import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from fascicle.embedded.errors import ProcessNotReady

_PROC = Path("/proc")
_KILL_SECONDS = 5.0


async def take_claim(path: Path, patience_seconds: float) -> int:
    """Returns the locked file: pass it to the next child, then close it here.

    An earlier process that holds the lock gets `patience_seconds` to end by itself, then SIGKILL.
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
    """Write the holder's process id into the file, for people and for systems without /proc."""
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
    # Another user's process cannot be inspected, and a process may end meanwhile.
    with suppress(OSError):
        return any(link.readlink() == path for link in (process / "fd").iterdir())
    return False
