"""The limit: what Temporal and its SDK cost alone. A workflow with one timer and one empty activity.

As a program (`python -m bench.bare`) it is the worker of such workflows, with the product's own options.
"""

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from bench.cpu import CpuMeter
from bench.footprint import Footprint, footprint
from bench.io import bytes_written
from bench.stack import BenchStack
from fascicle.domain.names import MAIN_QUEUE
from fascicle.runtime.embedded import Command
from fascicle.runtime.settings import Settings
from fascicle.runtime.temporal import connect
from fascicle.runtime.tuning import worker_options
from fascicle.runtime.workflow_sandbox import Sandbox

_QUEUE = "bare"
_TIMEOUT = timedelta(seconds=30)


@activity.defn
async def do_nothing() -> None:
    pass


@workflow.defn
class BareLoop:
    """As often as a source is polled."""

    @workflow.run
    async def run(self, seconds: float) -> None:
        for _ in range(300):
            await workflow.sleep(seconds)
            await workflow.execute_activity(do_nothing, start_to_close_timeout=_TIMEOUT)


@workflow.defn
class BareOnce:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(do_nothing, start_to_close_timeout=_TIMEOUT)


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
    """Workflows with one empty activity, all started at once, from the first start to the last end."""


async def measure_bare(stack: BenchStack, workflows: int, every: float, seconds: float) -> BareLimit:
    async with _bare_worker(stack):
        once = await _measure_once(stack.client, workflows)
        ids = [f"bare-{number}" for number in range(workflows)]
        for number, workflow_id in enumerate(ids):
            await stack.client.start_workflow(BareLoop.run, every, id=workflow_id, task_queue=_QUEUE)
            if number % 10 == 0:
                await asyncio.sleep(every * 10 / workflows)  # so that they do not wake together
        await asyncio.sleep(every)
        paced = await _measure_paced(stack, ids, seconds)
        await asyncio.gather(*(stack.client.get_workflow_handle(i).terminate() for i in ids))
    return BareLimit(paced, once)


async def _measure_once(client: Client, count: int) -> float:
    began = time.perf_counter()
    started = [
        await client.start_workflow(BareOnce.run, id=f"once-{number}", task_queue=_QUEUE)
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
        name="bare-worker", argv=[sys.executable, "-m", "bench.bare"], cwd=stack.supervisor.folder
    )
    process = await stack.supervisor.start(command)
    await asyncio.sleep(2)
    try:
        yield
    finally:
        await process.stop(grace_seconds=10)


async def _work() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = Worker(
        await connect(Settings().payload),
        task_queue=_QUEUE,
        workflows=[BareLoop, BareOnce],
        activities=[do_nothing],
        workflow_runner=Sandbox(),
        **worker_options(Settings(), MAIN_QUEUE),
    )
    async with worker:
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_work())
