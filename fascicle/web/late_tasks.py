"""Workflow tasks that took too long: Temporal gave them up and repeated them.

A worker with too many tasks at once loses more and more of them and does all work twice. The SDK counts the
answers that came too late; this module reads its counter.
"""

import re
import time
from collections import deque
from collections.abc import Awaitable, Callable

WINDOW_SECONDS = 600.0
_NOTED_EVERY_SECONDS = 30.0
_COUNTER = re.compile(
    r"^temporal_request_failure_total\{(?=[^}]*operation=\"RespondWorkflowTaskCompleted\")"
    r"(?=[^}]*status_code=\"NOT_FOUND\")[^}]*\} (\S+)$",
    re.MULTILINE,
)


class LateTasks:
    """`read` gives the SDK's metrics as text."""

    def __init__(
        self, read: Callable[[], Awaitable[str]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])

    async def lately(self) -> int:
        """The number in the last ten minutes, or since the last look if that was longer ago."""
        total, since = self.note(await self._read()), self._clock() - WINDOW_SECONDS
        while len(self._seen) > 1 and self._seen[1][0] <= since:
            self._seen.popleft()
        return total - self._seen[0][1]

    def note(self, metrics: str) -> int:
        """The number since the worker's start, by these metrics."""
        total, now = sum(int(float(value)) for value in _COUNTER.findall(metrics)), self._clock()
        if now - self._seen[-1][0] >= _NOTED_EVERY_SECONDS:
            self._seen.append((now, total))
        return total
