"""The folder of PostgreSQL's socket: in the data folder, or at a short path if that path is too long."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from fascicle.embedded.account import Account
from fascicle.embedded.errors import EmbeddedError

SOCKET_PORT = 5432

# Linux allows 107 bytes and macOS 103.
_LONGEST_SOCKET_PATH = 103


def choose_socket_folder(folder: Path) -> Path:
    """The first candidate with a short enough path; the same at every start of the same data folder."""
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    short = f"fascicle-{digest}"
    candidates = [folder / "socket", Path(tempfile.gettempdir(), short), Path("/tmp", short)]  # noqa: S108
    for candidate in candidates:
        if len(os.fsencode(candidate / f".s.PGSQL.{SOCKET_PORT}")) <= _LONGEST_SOCKET_PATH:
            return candidate
    raise EmbeddedError(f"No path is short enough for a socket; tried {', '.join(map(str, candidates))}.")


def make_socket_folder(folder: Path, account: Account | None) -> None:
    """Make it for its owner only. A folder of that name in a shared temp folder may be a trap: refuse it."""
    owner = account.uid if account else os.geteuid()
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (owner, os.geteuid()):
        raise EmbeddedError(
            f"{folder} belongs to somebody else. Remove it, or set TMPDIR to a folder of yours."
        )
    folder.chmod(0o700)
    if account:
        os.chown(folder, account.uid, account.gid)
