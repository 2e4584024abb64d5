"""What a child of FanFicFare's may not do on top of what no parsing process may: change files.

A child handles pages strangers wrote with a parser of 107 sites: it gets no more than it needs.
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
    """After it is loaded, so that Python can keep what it compiled."""

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
