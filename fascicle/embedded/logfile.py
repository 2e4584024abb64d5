"""The log file of one child process."""

import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

ROTATE_BYTES = 10 * 1024 * 1024
KEPT = 3
_TAIL_LINES = 20
_TAIL_BYTES = 16 * 1024


def open_log(path: Path) -> BinaryIO:
    """Open the log for appending, which `rotate` relies on."""
    rotate(path)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")


def rotate(path: Path) -> None:
    """Copy a large log to NAME.log.1 and empty it; the process continues to write to it.

    Lines written between the two steps are lost.
    """
    if not path.exists() or path.stat().st_size <= ROTATE_BYTES:
        return
    older = [path.with_name(f"{path.name}.{number}") for number in range(1, KEPT + 1)]
    for newer, old in reversed(list(pairwise(older))):
        if newer.exists():
            newer.replace(old)
    shutil.copyfile(path, older[0])
    older[0].chmod(0o600)
    os.truncate(path, 0)


def last_lines(path: Path, since: int) -> str:
    """The last lines that were written after the position `since`."""
    with path.open("rb") as log:
        size = log.seek(0, 2)
        log.seek(max(since if since <= size else 0, size - _TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])
