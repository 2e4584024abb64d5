"""The log of the simulator's requests and the status of its answers."""

import re
import time
from collections import deque
from dataclasses import dataclass
from threading import Lock

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulator.paths import path_matches

CAPACITY = 100_000
KEPT_HEADERS = {b"user-agent", b"via"}
# People read the log and keep it in reports, so it must not contain tokens.
SECRETS = re.compile(r"(?<![^&])((?:access_|refresh_)?token|code|client_secret)=[^&]*")
SECRET_PATHS = re.compile(r"(?<=/webhooks/)([^/]+)/[^/]+")


@dataclass(slots=True)
class LoggedRequest:
    """One request. `status` is None while it is under way, and stays None if no answer is sent."""

    number: int
    at: float
    monotonic: float
    method: str
    path: str
    query: str
    headers: dict[str, str]
    status: int | None = None
    seconds: float | None = None
    fault: str | None = None


class RequestLog:
    def __init__(self, capacity: int = CAPACITY) -> None:
        self._lock = Lock()
        self._entries: deque[LoggedRequest] = deque(maxlen=capacity)
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._entries)

    def open(self, scope: Scope) -> LoggedRequest:
        headers = {
            name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in KEPT_HEADERS
        }
        query = SECRETS.sub(r"\1=***", scope["query_string"].decode("latin-1"))
        with self._lock:
            self._last_number += 1
            entry = LoggedRequest(
                number=self._last_number,
                at=time.time(),
                monotonic=time.monotonic(),
                method=scope["method"],
                path=SECRET_PATHS.sub(r"\1/***", scope["path"]),
                query=query,
                headers=headers,
            )
            self._entries.append(entry)
        return entry

    def matching(self, path: str = "/", since: float = 0.0) -> list[LoggedRequest]:
        """Requests whose path matches (see `path_matches`), at or after a UNIX time, oldest first."""
        with self._lock:
            entries = list(self._entries)
        return [entry for entry in entries if entry.at >= since and path_matches(path, entry.path)]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


class LoggedApp:
    """Runs an application and logs each of its requests."""

    def __init__(self, app: ASGIApp, log: RequestLog) -> None:
        self._app = app
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        entry = self._log.open(scope)
        scope.setdefault("state", {})

        async def note_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                entry.status = message["status"]
                entry.fault = scope["state"].get("fault")
            elif not message.get("more_body", False):
                # Set it before sending the end: the client may read the log before `send` returns.
                entry.seconds = time.monotonic() - entry.monotonic
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            entry.fault = scope["state"].get("fault")
            if entry.seconds is None:
                entry.seconds = time.monotonic() - entry.monotonic
