"""The log file of one child process."""

from pathlib import Path
from typing import BinaryIO

ROTATE_BYTES = 10 * 1024 * 1024
_TAIL_LINES = 20
_TAIL_BYTES = 16 * 1024


def open_log(path: Path) -> BinaryIO:
    """Open for appending; one that has grown large becomes NAME.log.1 first."""
    if path.exists() and path.stat().st_size > ROTATE_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    return path.open("ab")


def last_lines(path: Path, since: int) -> str:
    """The end of what was written after the position `since`."""
    with path.open("rb") as log:
        size = log.seek(0, 2)
        log.seek(max(since, size - _TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])
