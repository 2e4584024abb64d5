"""Worker processes side by side: all of one kind, or each with its own role."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from bench.cpu import CpuUse
from bench.stack import BenchStack
from fascicle.domain.names import DELIVER_QUEUE, FETCH_QUEUE, MAIN_QUEUE, PUBLISH_QUEUE

_PREFIX = "worker-"


@dataclass(frozen=True)
class Crew:
    name: str
    roles: tuple[str | None, ...]
    """The queues of each process; None: all."""

    def __len__(self) -> int:
        return len(self.roles)


def alike(count: int) -> Crew:
    return Crew(f"{count} worker{'s' if count > 1 else ''}", (None,) * count)


BY_ROLE = Crew("2, by role", (MAIN_QUEUE, ",".join((FETCH_QUEUE, DELIVER_QUEUE, PUBLISH_QUEUE))))


@asynccontextmanager
async def at_work(stack: BenchStack, crew: Crew, **settings: Any) -> AsyncIterator[None]:
    async with AsyncExitStack() as running:
        for number, queues in enumerate(crew.roles, 1):
            await running.enter_async_context(stack.worker(f"{_PREFIX}{number}", queues, **settings))
        yield


def kill_one(stack: BenchStack) -> None:
    """Kill a worker as if its machine failed, without a shutdown. The supervisor starts it again."""
    os.kill(stack.supervisor.pids[f"{_PREFIX}1"], signal.SIGKILL)


def memory_of_workers(stack: BenchStack) -> int:
    """In bytes."""
    pids = [pid for name, pid in stack.supervisor.pids.items() if name.startswith(_PREFIX)]
    return sum(_resident(psutil.Process(pid)) for pid in pids)


def memory_of_temporal(stack: BenchStack) -> int:
    return _resident(psutil.Process(stack.supervisor.pids["temporal"]))


def of_parts(cpu: CpuUse) -> dict[str, float]:
    """CPU seconds by part; all workers are one part."""
    parts: dict[str, float] = {}
    for name, seconds in cpu.processes.items():
        part = "workers" if name.startswith(_PREFIX) else name
        parts[part] = parts.get(part, 0.0) + seconds
    return parts


def _resident(process: Any) -> int:
    family = [process, *process.children(recursive=True)]
    return sum(int(one.memory_info().rss) for one in family)
