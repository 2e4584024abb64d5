"""The additional restriction of FanFicFare's child processes: they may not change files.

A child reads untrusted pages with parsers for 107 sites, so it gets no more rights than it needs.
"""

import os
import resource
import sys
from typing import Any

from fascicle.sandbox.lockdown import Refused, limit

_FILES = frozenset(
    {
        *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.chown", "os.utime", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
        *("tempfile.mkstemp", "tempfile.mkdtemp", "sqlite3.connect", "ctypes.dlopen"),
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MEMORY = 512 << 20


def shut_files() -> None:
    """Call it after FanFicFare is loaded, so that Python can store its compiled files."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILES or (event == "open" and _is_writing(arguments)):
            raise Refused(f"{event} is not for a parser")

    sys.addaudithook(refuse)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_AS, _MEMORY)
    limit(resource.RLIMIT_CORE, 0)


def _is_writing(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    return isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull
