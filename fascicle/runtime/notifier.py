"""Messages to people, through Apprise: one URL per channel, 170 services behind them."""

import asyncio
import logging
import re
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from fascicle.runtime.channel_check import apprise_channel, kinds_of
from fascicle.runtime.message import Markup, Message, Place, fit_for
from fascicle.runtime.ssrf import HostGuard, is_public


@dataclass(frozen=True)
class Sent:
    """`certain` is False when the message may have arrived although the service never said so."""

    ok: bool
    certain: bool = True
    error: str | None = None


# The service answered no, or was never reached. 502 and 504 are a proxy's word for "I do not know".
# A mail server's no is a code and its words.
_REFUSED = re.compile(r"error=(?:4\d\d|500|501|503|505)\b|Socket Exception: .*\([45]\d\d, b['\"]")
_UNREACHED = (
    "Failed to establish a new connection",
    "Connection refused",
    "ConnectTimeout",
    "NameResolutionError",
    "Name or service not known",
    "is a private address",
    # Apprise's words for a mail server that let nobody in: no mail was handed over yet.
    "Connection error while submitting email",
)


# Shorter parts of an address are words such as `hooks`.
_LEAST_SECRET = 6
_BETWEEN_PARTS = re.compile(r"[/:@?&=;#,]+")


class Notifier:
    """Sends at most `concurrency` messages at a time, in threads of its own."""

    def __init__(self, guard: HostGuard, *, concurrency: int = 8) -> None:
        self._guard = guard
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="notifier")
        self.slots = asyncio.Semaphore(concurrency)
        """Taken by the sender before it commits to sending: nothing is promised that waits in a queue."""

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def send(self, url: str, message: Message, *, trusted: bool = False) -> Sent:
        """`trusted`: the operator's own, which may be on a private address."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._send, url, message, trusted)

    def _send(self, url: str, message: Message, trusted: bool) -> Sent:
        channel = apprise_channel(url)
        if channel is None:
            return Sent(False, error="Apprise does not know this kind of address")
        # Retries are ours: a library that sends again on its own would tell people twice.
        channel.retry = 0
        with _SocketGuard(None if trusted else self._guard), _CapturedLog() as log:
            try:
                place = _place(channel)
                title, body = fit_for(place, message)
                ok = bool(channel.notify(title=title, body=body, body_format=place.markup.value))
            except Exception as error:
                return Sent(False, certain=False, error=f"Apprise broke: {type(error).__name__}")
        if ok:
            return Sent(True)
        return Sent(
            False,
            certain=_never_arrived(log.text()),
            error=_without_secrets(log.summary(), url, channel.host),
        )


def _place(channel: Any) -> Place:
    return Place(
        kinds=kinds_of(channel),
        markup=Markup(channel.resolve_format(Markup.TEXT.value).value),
        has_titles=int(channel.title_maxlen or 0) > 0,
        most=int(channel.body_maxlen or 0),
    )


def _without_secrets(said: str, url: str, host: str | None) -> str:
    """A library's complaint may quote the address: of that only the kind and a server's name are shown."""
    parts = set(_BETWEEN_PARTS.split(unquote(url))[1:])
    for part in sorted(parts, key=len, reverse=True):
        # Where a service needs no server's name, a secret is in its place.
        is_server = part == host and "." in part
        if len(part) >= _LEAST_SECRET and not is_server:
            said = said.replace(part, "…")
    return said


def _never_arrived(said: str) -> bool:
    """Only a known refusal is certain. Anything else may have arrived, and nobody wants it twice."""
    return bool(_REFUSED.search(said)) or any(hint in said for hint in _UNREACHED)


class _CapturedLog(logging.Handler):
    """Apprise answers only yes or no; the reason is in its log. Collects the lines of this thread."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._thread = threading.get_ident()
        self._lines: list[tuple[int, str]] = []

    def __enter__(self) -> "_CapturedLog":
        logger = logging.getLogger("apprise")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("apprise").removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._lines.append((record.levelno, record.getMessage()))

    def text(self) -> str:
        return "\n".join(line for _, line in self._lines)

    def summary(self) -> str:
        """The warnings; the debug lines may hold addresses with secrets."""
        warnings = [line for level, line in self._lines if level >= logging.WARNING]
        return "; ".join(warnings)[:500] or "the service refused the message"


_guarded = threading.local()
_hook_installed = threading.Lock()


class _SocketGuard:
    """Within it, this thread connects to public addresses only, and to the hosts that the guard names.

    Apprise opens its own connections, so the guard stands at the socket: an audit hook sees the very
    address connected to, whatever name led there. Hooks cannot be removed: one is installed, once.
    """

    def __init__(self, guard: HostGuard | None) -> None:
        """None: every address is allowed."""
        self._guard = guard

    def __enter__(self) -> None:
        if _hook_installed.acquire(blocking=False):  # held for good: it marks that the hook is there
            sys.addaudithook(_refuse_private_connections)
        _guarded.by = self._guard

    def __exit__(self, *_: object) -> None:
        _guarded.by = None


def _refuse_private_connections(event: str, args: tuple[Any, ...]) -> None:
    if event not in ("socket.connect", "socket.sendto"):
        return
    guard: HostGuard | None = getattr(_guarded, "by", None)
    if guard is None:
        return
    family, address = args[0].family, args[1]
    if family in (socket.AF_INET, socket.AF_INET6):
        host, port = str(address[0]), int(address[1])
        if is_public(host) or guard.is_allowed_address(host, port):
            return
    raise ConnectionRefusedError(f"{address} is a private address; see FASCICLE_ALLOW_HOSTS")
