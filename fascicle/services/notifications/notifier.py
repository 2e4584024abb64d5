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

from fascicle.net.ssrf import HostGuard, is_public
from fascicle.services.notifications.channel_check import apprise_channel, kinds_of
from fascicle.services.notifications.message import Markup, Message, Place, fit_for


@dataclass(frozen=True)
class Sent:
    """`certain` is False if the message may have arrived although the service did not confirm it."""

    ok: bool
    certain: bool = True
    error: str | None = None


# The service refused. 502 and 504 are not in the list: a proxy sends them when the outcome is unknown.
# A mail server refuses with a code and a text.
_REFUSED = re.compile(r"error=(?:4\d\d|500|501|503|505)\b|Socket Exception: .*\([45]\d\d, b['\"]")
_UNREACHED = (
    "Failed to establish a new connection",
    "Connection refused",
    "ConnectTimeout",
    "NameResolutionError",
    "Name or service not known",
    "is a private address",
    # Apprise's text for a mail server that refused the login: no mail was handed over.
    "Connection error while submitting email",
)


# Shorter parts of an address are ordinary words such as `hooks`.
_LEAST_SECRET = 6
_BETWEEN_PARTS = re.compile(r"[/:@?&=;#,]+")


class Notifier:
    """Sends at most `concurrency` messages at a time, in threads of its own."""

    def __init__(self, guard: HostGuard, *, concurrency: int = 8) -> None:
        self._guard = guard
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="notifier")
        self.slots = asyncio.Semaphore(concurrency)
        """A sender takes a slot before it commits its intent, so that no committed message waits here."""

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def send(self, url: str, message: Message, *, trusted: bool = False) -> Sent:
        """`trusted`: the operator configured this address, so it may be private."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._send, url, message, trusted)

    def _send(self, url: str, message: Message, trusted: bool) -> Sent:
        channel = apprise_channel(url)
        if channel is None:
            return Sent(False, error="Apprise does not know this kind of address")
        # We do the retries: if the library repeated a message, people would get it twice.
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
    """A library's error may quote the address: show only the kind and the server's name of it."""
    parts = set(_BETWEEN_PARTS.split(unquote(url))[1:])
    for part in sorted(parts, key=len, reverse=True):
        # A service that needs no server name has a secret in that place.
        is_server = part == host and "." in part
        if len(part) >= _LEAST_SECRET and not is_server:
            said = said.replace(part, "…")
    return said


def _never_arrived(said: str) -> bool:
    """True only for a known refusal. After any other error the message may have arrived: do not repeat it."""
    return bool(_REFUSED.search(said)) or any(hint in said for hint in _UNREACHED)


class _CapturedLog(logging.Handler):
    """Collects the log lines of this thread: Apprise returns only True or False, the reason is in its log."""

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
        """Only the warnings: debug lines may contain addresses with secrets."""
        warnings = [line for level, line in self._lines if level >= logging.WARNING]
        return "; ".join(warnings)[:500] or "the service refused the message"


_guarded = threading.local()
_hook_installed = threading.Lock()


class _SocketGuard:
    """Inside it, this thread connects only to public addresses and to the hosts that the guard names.

    Apprise opens its own connections, so the check is at the socket: an audit hook sees the real address,
    whatever name it was resolved from. Hooks cannot be removed, so only one is installed.
    """

    def __init__(self, guard: HostGuard | None) -> None:
        """`guard` None: every address is allowed."""
        self._guard = guard

    def __enter__(self) -> None:
        if _hook_installed.acquire(blocking=False):  # never released: it marks that the hook is installed
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
