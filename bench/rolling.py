"""Rolling restarts: workers stop and start in turn while all sources are polled and chapters are released."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx

from bench.books import Followed, in_parallel
from bench.scale_work import FEEDS, begin_polling, rest
from bench.stack import BenchStack
from fascicle.domain.series.cadence import Cadence

RESTARTS = 10
_WORKERS = 2
_RELEASES = 20
_BETWEEN_SECONDS = 1.0
# The server's count of tasks that no worker answered in time.
_TIMEOUTS = re.compile(
    r'^(heartbeat|start_to_close)_timeout(?:_total)?\{.*operation="TimerActiveTask(\w+)Timeout".*\} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True)
class Rolling:
    seconds: float
    polls: int
    lost_activities: int
    """Activities of a stopped worker that came back only after their timeout."""
    lost_workflow_tasks: int
    longest_pause: float
    """The most seconds between two polls of one source."""

    @property
    def faults(self) -> list[str]:
        lost = {"activities": self.lost_activities, "workflow tasks": self.lost_workflow_tasks}
        return [f"{count} {what} lost by rolling restarts" for what, count in lost.items() if count]


async def measure_rolling(
    stack: BenchStack, followed: Sequence[Followed], settings: dict[str, Any]
) -> Rolling:
    async with AsyncExitStack() as running:
        crew = [await _start(stack, running, number, settings) for number in range(_WORKERS)]
        await begin_polling(stack, followed, Cadence.HOT)
        before, begin = await _timeouts(stack), time.time()
        for turn in range(RESTARTS):
            await asyncio.sleep(_BETWEEN_SECONDS)
            await in_parallel(followed[:_RELEASES], lambda one: stack.simulator.release(one.site_key))
            await crew[turn % _WORKERS].aclose()
            crew[turn % _WORKERS] = await _start(stack, running, turn % _WORKERS, settings)
        # `rest` also waits for lost activities, which are repeated after their heartbeat timeout.
        await rest(stack, len(followed))
        end, after = time.time(), await _timeouts(stack)
    requests = await stack.simulator.requests(FEEDS, since=begin)
    return Rolling(
        seconds=end - begin,
        polls=len(requests),
        lost_activities=after["Activity"] - before["Activity"],
        lost_workflow_tasks=after["WorkflowTask"] - before["WorkflowTask"],
        longest_pause=_longest_pause([(one.path, one.at) for one in requests]),
    )


async def _start(
    stack: BenchStack, running: AsyncExitStack, number: int, settings: dict[str, Any]
) -> AsyncExitStack:
    one = await running.enter_async_context(AsyncExitStack())
    await one.enter_async_context(stack.worker(f"worker-{number + 1}", **settings))
    return one


async def _timeouts(stack: BenchStack) -> dict[str, int]:
    async with httpx.AsyncClient(trust_env=False) as http:
        metrics = (await http.get(stack.temporal_metrics_url)).text
    counted: dict[str, int] = defaultdict(int)
    for _, operation, count in _TIMEOUTS.findall(metrics):
        counted[operation] += int(float(count))
    return counted


def _longest_pause(requests: Sequence[tuple[str, float]]) -> float:
    instants: dict[str, list[float]] = defaultdict(list)
    for path, at in requests:
        instants[path].append(at)
    pauses = [later - earlier for at in instants.values() for earlier, later in pairwise(sorted(at))]
    return max(pauses, default=float("nan"))
