"""The data folder of one embedded stack: one owner at a time, and other people's files are left alone."""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from fascicle.embedded.errors import DataFolderCorrupt, DataFolderInUse

CLUSTER = "postgres"
TEMPORAL_DATABASE = "temporal.db"
POSTGRES_MAJOR = 18

_LOCK = "fascicle.lock"
_STACK = "stack.json"
# Files that commands and workers with other servers may have made before the first `up`.
_MAY_COME_FIRST = {"token-keys", "files"}
_SQLITE_MAGIC = b"SQLite format 3\0"


class DataFolder:
    """Opens and locks the folder; the lock lasts until `close` or the death of the process."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        _create(self.path)
        self._lock = _take_lock(self.path)
        # A killed owner's published stack must not be taken for ours until we publish.
        (self.path / _STACK).unlink(missing_ok=True)
        try:
            _check_cluster(self.path / CLUSTER)
            _check_temporal_database(self.path / TEMPORAL_DATABASE)
        except BaseException:
            self.close()
            raise

    def publish(self, stack: Mapping[str, str | int]) -> None:
        """Tell other processes where the running stack is; replaces what was published before."""
        draft = self.path / f"{_STACK}.new"
        draft.touch(mode=0o600)  # it contains the database's URL with its password
        draft.write_text(json.dumps(dict(stack), indent=1))
        draft.replace(self.path / _STACK)

    def close(self) -> None:
        """Withdraw the published stack and release the lock."""
        if self._lock < 0:
            return
        (self.path / _STACK).unlink(missing_ok=True)
        # The lock file itself stays: removing it would let two owners lock two files of one name.
        os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_running_stack(path: Path) -> dict[str, str | int] | None:
    """The stack that the folder's owner published, or None if no living process owns it."""
    folder = path.expanduser().resolve()
    try:
        with (folder / _LOCK).open() as lock:
            if _lock_file(lock.fileno(), fcntl.LOCK_SH):
                return None
        published: dict[str, str | int] = json.loads((folder / _STACK).read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise _not_ours(folder, error) from error
    return published


def _create(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise DataFolderCorrupt(
            f"{path} is a file, not a folder. Move it away, or choose another (FASCICLE_DATA_DIR)."
        )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = sorted(entry.name for entry in path.iterdir())
        if not found and path.stat().st_uid == os.geteuid():
            path.chmod(0o700)
    except OSError as error:
        raise _not_ours(path, error) from error
    if set(found) - _MAY_COME_FIRST and _LOCK not in found:
        raise DataFolderCorrupt(
            f"{path} holds other things ({', '.join(found[:3])}) and was not made by Fascicle. "
            "Choose an empty or a new folder (FASCICLE_DATA_DIR)."
        )


def _take_lock(path: Path) -> int:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _not_ours(path, error) from error
    # read_running_stack takes the lock for an instant to see whether an owner lives, so try more than once.
    attempts = 5
    while not _lock_file(lock, fcntl.LOCK_EX):
        attempts -= 1
        if attempts == 0:
            owner = os.pread(lock, 20, 0).decode().strip()
            os.close(lock)
            raise DataFolderInUse(
                f"{path} is in use by process {owner or '(unknown)'}. "
                f"Stop that one first (kill {owner or 'PID'}), or choose another folder (FASCICLE_DATA_DIR)."
            )
        time.sleep(0.05)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _lock_file(lock: int, kind: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
        return True
    return False


def _check_cluster(cluster: Path) -> None:
    if not cluster.exists():
        return
    try:
        version = (cluster / "PG_VERSION").read_text().strip()
    except PermissionError as error:
        raise _not_ours(cluster, error) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DataFolderCorrupt(
            f"{cluster} is not a PostgreSQL cluster (it has no PG_VERSION). "
            "Move it away to start with an empty database, or restore it from a backup."
        ) from error
    if version != str(POSTGRES_MAJOR):
        raise DataFolderCorrupt(
            f"{cluster} was made by PostgreSQL {version}; this Fascicle runs PostgreSQL {POSTGRES_MAJOR}. "
            "Dump it with that version and restore the dump, or choose another folder (FASCICLE_DATA_DIR)."
        )


def _check_temporal_database(database: Path) -> None:
    if not database.exists():
        return
    try:
        with database.open("rb") as file:
            start = file.read(len(_SQLITE_MAGIC))
    except IsADirectoryError:
        start = b"a folder"
    except OSError as error:
        raise _not_ours(database, error) from error
    if start not in (b"", _SQLITE_MAGIC):
        raise DataFolderCorrupt(
            f"{database} is not an SQLite file. Move it away to start with an empty Temporal "
            "(the sources start anew from PostgreSQL), or restore it from a backup."
        )


def _not_ours(path: Path, error: OSError) -> DataFolderCorrupt:
    return DataFolderCorrupt(
        f"{path} cannot be used by this user ({error.strerror}). "
        "Run as the user who made it, change its owner, or choose another data folder (FASCICLE_DATA_DIR)."
    )
