"""What a child may not do: reach the network, start programs, change files, outlive its parent.

A child handles pages strangers wrote with a parser of 107 sites: it gets no more than it needs.
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

_NETWORK = frozenset(
    {
        *("socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"),
        *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
        *("urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect"),
    }
)
_PROGRAMS = frozenset(
    {
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"),
        *("os.startfile", "pty.spawn", "os.kill", "webbrowser.open"),
    }
)
_FILES = frozenset(
    {
        *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
        *("os.chmod", "os.chown", "os.utime", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
        *("tempfile.mkstemp", "tempfile.mkdtemp", "sqlite3.connect", "ctypes.dlopen"),
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MEMORY = 1 << 30


class Refused(PermissionError):
    pass


def shut_network() -> None:
    """Before FanFicFare is loaded. An audit hook cannot be taken out again."""
    refused = _NETWORK | _PROGRAMS

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in refused:
            raise Refused(f"{event} is not for a parser")

    sys.addaudithook(refuse)


def shut_files() -> None:
    """After it is loaded, so that Python can keep what it compiled."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILES or (event == "open" and _is_writing(arguments)):
            raise Refused(f"{event} is not for a parser")

    sys.addaudithook(refuse)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_AS, _MEMORY)
    _limit(resource.RLIMIT_CORE, 0)


def end_after(seconds: float) -> None:
    """The kernel ends this process then, even if nobody is left to do it; 0 calls that off."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _is_writing(arguments: tuple[Any, ...]) -> bool:
    path, _, flags = arguments
    return isinstance(flags, int) and bool(flags & _WRITING) and path != os.devnull


def _limit(kind: int, most: int) -> None:
    with suppress(ValueError, OSError):  # not every system knows every limit
        resource.setrlimit(kind, (most, most))
