"""A rate limit that the simulator enforces, for all clients together."""

import math
import time
from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from simulator.answers import ErrorForm, UnreadBody
from simulator.paths import path_matches


class RateLimit(BaseModel):
    """No limit if `requests_per_second` is None."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = "/mangadex"
    requests_per_second: Annotated[float, Field(gt=0)] | None = None


class SlidingWindow:
    """Lets through, in any period of the window's length, as many requests as the rate allows."""

    def __init__(self, requests_per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._allowed = max(1, math.floor(requests_per_second))
        self._seconds = self._allowed / requests_per_second
        self._clock = clock
        self._passed: deque[float] = deque()

    def wait_before_next(self) -> float:
        """Zero if the request may pass, which counts it; else the seconds until the next one may pass."""
        now = self._clock()
        while self._passed and self._passed[0] <= now - self._seconds:
            self._passed.popleft()
        if len(self._passed) >= self._allowed:
            return self._passed[0] + self._seconds - now
        self._passed.append(now)
        return 0.0


class RateLimits:
    """The rate limits, at most one per path pattern."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._windows: dict[str, SlidingWindow] = {}

    def set(self, limit: RateLimit) -> None:
        with self._lock:
            self._windows.pop(limit.path, None)
            if limit.requests_per_second is not None:
                self._windows[limit.path] = SlidingWindow(limit.requests_per_second)

    def clear(self) -> None:
        with self._lock:
            self._windows.clear()

    def wait_before(self, path: str) -> float:
        with self._lock:
            windows = [window for pattern, window in self._windows.items() if path_matches(pattern, path)]
            return max((window.wait_before_next() for window in windows), default=0.0)


class RateLimitedApp:
    """Answers 429 in the upstream's form to requests beyond the limit."""

    def __init__(self, app: ASGIApp, limits: RateLimits, error_form_of: Callable[[str], ErrorForm]) -> None:
        self._app = app
        self._limits = limits
        self._error_form_of = error_form_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait = self._limits.wait_before(scope["path"])
        if wait > 0:
            refusal = self._error_form_of(scope["path"])(429, str(math.ceil(wait)))
            await UnreadBody(receive).read_rest()
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
