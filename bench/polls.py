"""Idle polls: every source is polled again and again while nothing is new."""

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
from fascicle.domain.names import source_workflow_id
from fascicle.domain.series.cadence import Cadence
from fascicle.storage.database import transaction
from fascicle.storage.series import source as sources

_FEEDS = "/mangadex/manga/*/feed"
# Polls per second at which a small machine still makes every poll in time.
_PACE = 20
_NO_PAUSE = 0.001
_LOOK_EVERY = 0.2
_PATIENCE = 120.0
# The processes whose CPU counts as a poll's cost; the simulator and the bench do not count.
OURS = ("worker", "temporal", "postgres")


def rhythms(series: int) -> dict[str, float]:
    """Settings by which COLD sources rest, WARM ones are polled at a fixed pace and HOT ones all the time."""
    return {"cadence_hot_seconds": _NO_PAUSE, "cadence_warm_seconds": max(1.0, series / _PACE)}


@dataclass(frozen=True)
class IdlePolls:
    seconds: float
    polls: int
    cpu: CpuUse
    footprint: Footprint
    written: int
    """The bytes written by Temporal's process."""

    @property
    def polls_per_second(self) -> float:
        return self.polls / self.seconds

    @property
    def milliseconds(self) -> dict[str, float]:
        """Milliseconds of CPU of each process for one poll."""
        return {name: 1000 * self.cpu.processes[name] / self.polls for name in OURS}


async def measure_idle_polls(stack: BenchStack, seconds: float) -> tuple[IdlePolls, IdlePolls]:
    """Measure at a pace at which the worker makes all polls in time, then as fast as it can."""
    async with transaction(stack.dependencies.engine) as connection:
        ids = [source_workflow_id(i) for i in await sources.active_ids(connection)]
    handles = [stack.client.get_workflow_handle(i) for i in ids]
    await pin(stack, Cadence.WARM)
    begin = datetime.now(UTC)
    await asyncio.gather(*(handle.signal("poll_now") for handle in handles))
    await until_polled_since(stack, begin, len(handles))
    # All polls of that round came at once; another round spreads them.
    await asyncio.sleep(2 * rhythms(len(handles))["cadence_warm_seconds"])
    paced = await measure_looks(stack, ids, _FEEDS, seconds)
    await pin(stack, Cadence.HOT)
    await until_polled_since(stack, datetime.now(UTC), len(handles))
    return paced, await measure_looks(stack, ids, _FEEDS, seconds)


async def measure_looks(
    stack: BenchStack, workflow_ids: Sequence[str], path: str, seconds: float
) -> IdlePolls:
    """Measure all polls within so many seconds; `path` is the path of their requests."""
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
    """Set it directly in the database, where the next poll finds it, because signals are not measured."""
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
