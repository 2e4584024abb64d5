"""Idle polls: every source looked at again and again while nothing is new."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import text

from bench.cpu import CpuMeter, CpuUse
from bench.footprint import Footprint, footprint
from bench.io import bytes_written
from bench.stack import BenchStack
from fascicle.domain.cadence import Cadence
from fascicle.domain.names import source_workflow_id
from fascicle.storage import source as sources
from fascicle.storage.database import transaction

_FEEDS = "/mangadex/manga/*/feed"
# Polls per second at which a small machine still keeps every appointment.
_PACE = 20
_NO_PAUSE = 0.001
_LOOK_EVERY = 0.2
_PATIENCE = 120.0
# Of these a poll's cost is made up: the simulator and the bench are not ours to count.
OURS = ("worker", "temporal", "postgres")


def rhythms(series: int) -> dict[str, float]:
    """Settings: COLD sources rest, WARM ones are polled at a fixed pace, HOT ones all the time."""
    return {"cadence_hot_seconds": _NO_PAUSE, "cadence_warm_seconds": max(1.0, series / _PACE)}


@dataclass(frozen=True)
class IdlePolls:
    seconds: float
    polls: int
    cpu: CpuUse
    footprint: Footprint
    written: int
    """Bytes, by Temporal's process."""

    @property
    def polls_per_second(self) -> float:
        return self.polls / self.seconds

    @property
    def milliseconds(self) -> dict[str, float]:
        """CPU of each process for one poll."""
        return {name: 1000 * self.cpu.processes[name] / self.polls for name in OURS}


async def measure_idle_polls(stack: BenchStack, seconds: float) -> tuple[IdlePolls, IdlePolls]:
    """At a pace at which the worker keeps its appointments, then as fast as it can."""
    async with transaction(stack.dependencies.engine) as connection:
        ids = [source_workflow_id(i) for i in await sources.active_ids(connection)]
    handles = [stack.client.get_workflow_handle(i) for i in ids]
    await pin(stack, Cadence.WARM)
    begin = datetime.now(UTC)
    await asyncio.gather(*(handle.signal("poll_now") for handle in handles))
    await until_polled_since(stack, begin, len(handles))
    # That round came all at once; one more spreads it.
    await asyncio.sleep(2 * rhythms(len(handles))["cadence_warm_seconds"])
    paced = await measure_looks(stack, ids, _FEEDS, seconds)
    await pin(stack, Cadence.HOT)
    await until_polled_since(stack, datetime.now(UTC), len(handles))
    return paced, await measure_looks(stack, ids, _FEEDS, seconds)


async def measure_looks(
    stack: BenchStack, workflow_ids: Sequence[str], path: str, seconds: float
) -> IdlePolls:
    """Whatever is looked at meanwhile; `path` is where requests show it."""
    pids = stack.supervisor.pids
    before, written = await footprint(stack, list(workflow_ids)), bytes_written(pids["temporal"])
    meter, begin = CpuMeter(pids), time.time()
    await asyncio.sleep(seconds)
    end, cpu = time.time(), meter.read()
    written = bytes_written(pids["temporal"]) - written
    left = (await footprint(stack, list(workflow_ids))).since(before)
    asked = await stack.simulator.requests(path, since=begin)
    return IdlePolls(end - begin, sum(one.at < end for one in asked), cpu, left, written)


async def pin(stack: BenchStack, cadence: Cadence) -> None:
    """Straight into the books, where the next poll finds it: steering is not what is measured."""
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text("update source set pinned_cadence = :cadence"), {"cadence": cadence})


async def until_polled_since(stack: BenchStack, begin: datetime, wanted: int) -> None:
    polled = "select count(*) from source where last_checked_at > :begin"
    try:
        async with asyncio.timeout(_PATIENCE):
            while await stack.value(polled, begin=begin) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        left = await stack.value(_NOT_POLLED, begin=begin)
        raise SystemExit(f"not polled within {_PATIENCE:g} s: {left}") from None


_NOT_POLLED = "select string_agg(id, ', ') from source where coalesce(last_checked_at <= :begin, true)"
