"""The restrictions of a parsing process: no settings of ours, no network, no programs, a time limit."""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

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
# Some Pythons do not start without this variable.
_PASSED_ON = ("LD_LIBRARY_PATH",)


class Refused(PermissionError):
    pass


def bare_environment() -> dict[str, str]:
    """An environment without our settings and secrets, and without a home folder. Times are UTC."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return passed_on | {
        "PYTHONPATH": os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path),
        "HOME": os.devnull,
        "TZ": "UTC",
        "PYTHONUTF8": "1",
        # Each of its threads would take address space, which is limited.
        "OPENBLAS_NUM_THREADS": "1",
    }


def own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes for requests and answers, moved away from stdin and stdout, where a library may print."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    return requests, answers


def shut_network() -> None:
    """Call it before a parser is loaded. An audit hook cannot be removed."""
    refused = _NETWORK | _PROGRAMS

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in refused:
            raise Refused(f"{event} is not for a parser")

    sys.addaudithook(refuse)


def end_after(seconds: float) -> None:
    """The kernel ends this process after so long, even if its parent is gone; 0 cancels that."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def allow_cpu(seconds: float) -> None:
    """The kernel ends this process when it has used so much more processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    with suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def die_first() -> None:
    """If the machine's memory runs out all the same, the kernel ends this process before any other."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def limit(kind: int, most: int) -> None:
    with suppress(ValueError, OSError):  # not every system knows every limit
        resource.setrlimit(kind, (most, most))
