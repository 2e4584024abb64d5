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

from fascicle.domain.errors import UsageError
from fascicle.runtime.ssrf import HostGuard, is_public


@dataclass(frozen=True)
class Message:
    title: str
    body: str


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
        channel = _channel(url)
        if channel is None:
            return Sent(False, error="Apprise does not know this kind of address")
        trusted = trusted or self._guard.is_allowed_by_name(str(channel.host or ""), channel.port)
        with _SocketGuard(enabled=not trusted), _CapturedLog() as log:
            try:
                body = fitted(message.body, int(channel.body_maxlen or 0))
                ok = bool(channel.notify(title=message.title, body=body))
            except Exception as error:
                return Sent(False, certain=False, error=f"Apprise broke: {type(error).__name__}")
        if ok:
            return Sent(True)
        return Sent(False, certain=_never_arrived(log.text()), error=log.summary())


def _never_arrived(said: str) -> bool:
    """Only a known refusal is certain. Anything else may have arrived, and nobody wants it twice."""
    return bool(_REFUSED.search(said)) or any(hint in said for hint in _UNREACHED)


def fitted(body: str, most: int) -> str:
    """What a service takes: whole lines, as many as fit. Sent too long, it would be refused every time."""
    if not most or len(body) <= most:
        return body
    kept = body[: max(0, most - 2)].rpartition("\n")[0] or body[: max(0, most - 2)]
    return f"{kept}\n…"


def check_channel(url: str) -> set[str]:
    """The kinds of Apprise URL that this one is (a service's own https:// address is one of them, too), or a
    UsageError when Apprise cannot use it, which never repeats it: it is a secret."""
    channel = _channel(url)
    if channel is None:
        raise UsageError(
            "invalid_channel",
            "That is not an Apprise URL. Examples: ntfy://TOPIC, discord://ID/TOKEN, mailto://…, json://HOST/PATH.",
        )
    if len(channel) > 1:
        raise UsageError(
            "several_targets",
            "That URL has several targets. Add one channel for each, so that a retry reaches nobody twice.",
        )
    return _kinds(channel.protocol) | _kinds(channel.secure_protocol)


def _kinds(protocol: Any) -> set[str]:
    """Apprise gives one, several or none."""
    return {protocol} if isinstance(protocol, str) else set(protocol or ())


def masked(url: str) -> str:
    """A channel's URL for people's eyes: only its kind, for every other part of it may be a secret."""
    return "unusable address" if _channel(url) is None else f"{url.partition('://')[0]}://…"


def _channel(url: str) -> Any | None:
    import apprise  # it takes its time, and few commands need it

    channel = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if channel is not None:
        # Retries are ours: a library that sends again on its own would tell people twice.
        channel.retry = 0
    return channel


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
    """Within it, this thread connects to public addresses only.

    Apprise opens its own connections, so the guard stands at the socket: an audit hook sees the very
    address connected to, whatever name led there. Hooks cannot be removed: one is installed, once.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        if _hook_installed.acquire(blocking=False):  # held for good: it marks that the hook is there
            sys.addaudithook(_refuse_private_connections)
        _guarded.enabled = self._enabled

    def __exit__(self, *_: object) -> None:
        _guarded.enabled = False


def _refuse_private_connections(event: str, args: tuple[Any, ...]) -> None:
    if event != "socket.connect" or not getattr(_guarded, "enabled", False):
        return
    family, address = args[0].family, args[1]
    if family not in (socket.AF_INET, socket.AF_INET6) or not is_public(str(address[0])):
        raise ConnectionRefusedError(f"{address} is a private address; see FASCICLE_ALLOW_HOSTS")
