"""New chapters: the time of one until its followers' rows, and the cost of two hundred at once."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import text

from bench.books import Followed, add_to_the_site, in_parallel, start_workflows, write_books
from bench.cpu import CpuMeter
from bench.footprint import Footprint, footprint, until_all_have_run
from bench.polls import OURS
from bench.scale_work import make_sources
from bench.stack import BenchStack
from fascicle.domain.names import WAKE_SIGNAL, source_workflow_id
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel

FOLLOWERS = 5
_ROWS = "select count(*) from notification"
_LOOK_EVERY = 0.002
_PATIENCE = 120.0


@dataclass(frozen=True)
class Releases:
    delays: list[float]
    """For single releases: seconds from the wake-up to the rows of all followers."""
    burst: int
    first_row: float
    last_row: float
    cpu: dict[str, float]
    """CPU seconds by process, for the burst until its last message was sent."""
    footprint: Footprint

    def quantile(self, share: float) -> float:
        ordered = sorted(self.delays)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def median(self) -> float:
        return median(self.delays)

    @property
    def milliseconds(self) -> float:
        return 1000 * sum(self.cpu.values()) / self.burst


async def measure_releases(stack: BenchStack, single: int, burst: int) -> Releases:
    """It needs a running worker without a delay before notifying."""
    followed = make_sources(burst)
    await add_to_the_site(stack, followed)
    await write_books(stack, followed)
    await _add_followers(stack, followed)
    await start_workflows(stack, [one.source_id for one in followed])
    ids = [source_workflow_id(one.source_id) for one in followed]
    await until_all_have_run(stack, ids)
    await _release(stack, followed[0])  # the first loads modules and models
    delays = [await _release(stack, one) for one in followed[:single]]
    return await _measure_burst(stack, followed, delays)


async def _add_followers(stack: BenchStack, followed: Sequence[Followed]) -> None:
    """The same five followers for every series; the channel of each is the simulator's sink."""
    sink = stack.simulator_url.replace("http://", "json://") + "/sink"
    names = [f"follower-{number}" for number in range(FOLLOWERS)]
    async with transaction(stack.dependencies.engine) as connection:
        for name in names:
            await connection.execute(
                text("insert into app_user (id, name) values (:name, :name)"), {"name": name}
            )
            await add_channel(connection, stack.dependencies.vault, name, f"{sink}/{name}")
        await connection.execute(
            text("insert into library_entry (user_id, series_id) select u.id, s.id from app_user u, series s")
        )


async def _release(stack: BenchStack, one: Followed) -> float:
    """Returns the seconds from the sweep's signal to the source until the rows of all followers."""
    await stack.simulator.release(one.site_key)
    before = await stack.value(_ROWS)
    began = time.perf_counter()
    await _wake(stack, one)
    await _until_rows(stack, before + FOLLOWERS)
    took = time.perf_counter() - began
    await _until_sent(stack)
    return took


async def _wake(stack: BenchStack, one: Followed) -> None:
    await stack.client.get_workflow_handle(source_workflow_id(one.source_id)).signal(WAKE_SIGNAL, 0.0)


async def _until_rows(stack: BenchStack, wanted: int) -> None:
    async with asyncio.timeout(_PATIENCE):
        while await stack.value(_ROWS) < wanted:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)


async def _until_sent(stack: BenchStack) -> None:
    open_ones = "select count(*) from delivery where state in ('pending', 'sending')"
    async with asyncio.timeout(_PATIENCE):
        while await stack.value(open_ones):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def _measure_burst(stack: BenchStack, followed: Sequence[Followed], delays: list[float]) -> Releases:
    await in_parallel(followed, lambda one: stack.simulator.release(one.site_key))
    rows, before = await stack.value(_ROWS), await footprint(stack, [])
    meter, began = CpuMeter(stack.supervisor.pids), time.perf_counter()
    waking = asyncio.create_task(in_parallel(followed, lambda one: _wake(stack, one)))
    await _until_rows(stack, rows + 1)
    first = time.perf_counter() - began
    await waking
    await _until_rows(stack, rows + FOLLOWERS * len(followed))
    last = time.perf_counter() - began
    await _until_sent(stack)
    cpu = meter.read().processes
    left = (await footprint(stack, [])).since(before)
    return Releases(delays, len(followed), first, last, {name: cpu[name] for name in OURS}, left)
