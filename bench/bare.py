"""The limit: the cost of Temporal and its SDK alone, by workflows with one timer and one empty activity."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio.client import Client

from bench.bare_workflows import QUEUE, BareLoop, BareOnce
from bench.cpu import CpuMeter
from bench.footprint import Footprint, footprint
from bench.io import bytes_written
from bench.stack import BenchStack
from fascicle.embedded import Command


@dataclass(frozen=True)
class BarePolls:
    polls: float
    cpu: dict[str, float]
    """Seconds, by process."""
    footprint: Footprint
    written: int

    @property
    def milliseconds(self) -> float:
        return 1000 * sum(self.cpu.values()) / self.polls


@dataclass(frozen=True)
class BareLimit:
    paced: BarePolls
    starts_per_second: float
    """The rate of workflows with one empty activity, all started at once, from first start to last end."""


async def measure_bare(stack: BenchStack, workflows: int, every: float, seconds: float) -> BareLimit:
    async with _bare_worker(stack):
        once = await _measure_once(stack.client, workflows)
        ids = [f"bare-{number}" for number in range(workflows)]
        for number, workflow_id in enumerate(ids):
            await stack.client.start_workflow(BareLoop.run, every, id=workflow_id, task_queue=QUEUE)
            if number % 10 == 0:
                await asyncio.sleep(every * 10 / workflows)  # so that they do not wake together
        await asyncio.sleep(every)
        paced = await _measure_paced(stack, ids, seconds)
        await asyncio.gather(*(stack.client.get_workflow_handle(i).terminate() for i in ids))
    return BareLimit(paced, once)


async def _measure_once(client: Client, count: int) -> float:
    began = time.perf_counter()
    started = [
        await client.start_workflow(BareOnce.run, id=f"once-{number}", task_queue=QUEUE)
        for number in range(count)
    ]
    await asyncio.gather(*(one.result() for one in started))
    return count / (time.perf_counter() - began)


async def _measure_paced(stack: BenchStack, ids: list[str], seconds: float) -> BarePolls:
    pids = stack.supervisor.pids
    before, written, meter = await footprint(stack, ids), bytes_written(pids["temporal"]), CpuMeter(pids)
    await asyncio.sleep(seconds)
    cpu, written = meter.read().processes, bytes_written(pids["temporal"]) - written
    left = (await footprint(stack, ids)).since(before)
    parts = {name: cpu[name] for name in ("bare-worker", "temporal")}
    return BarePolls(left.events / 11, parts, left, written)


@asynccontextmanager
async def _bare_worker(stack: BenchStack) -> AsyncIterator[None]:
    command = Command(
        name="bare-worker",
        argv=[sys.executable, "-m", "bench.bare_worker"],
        inherits=True,
        cwd=stack.supervisor.folder,
    )
    process = await stack.supervisor.start(command)
    await asyncio.sleep(2)
    try:
        yield
    finally:
        await process.stop(grace_seconds=10)
