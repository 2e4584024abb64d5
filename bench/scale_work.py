"""The work that `bench.scale` gives to each crew: idle polls, new chapters, one strict gate."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from bench.books import Followed, in_parallel
from bench.cpu import CpuMeter, CpuUse
from bench.crew import kill_one
from bench.distances import GateWatch, watch_gate
from bench.polls import pin, until_polled_since
from bench.stack import BenchStack
from fascicle.domain.names import source_workflow_id
from fascicle.domain.series.cadence import Cadence
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel

FEEDS = "/mangadex/manga/*/feed"
CHAPTERS = 20
_READERS = 20
_LOOK_EVERY = 0.1
_PATIENCE = 180.0
_KILL_AFTER = 1 / 3


@dataclass(frozen=True)
class Work:
    done: int
    seconds: float
    cpu: CpuUse

    @property
    def rate(self) -> float:
        return self.done / self.seconds


@dataclass(frozen=True)
class Telling(Work):
    """Chapters from their release to their one follower."""

    messages: int
    twice: int


def make_sources(count: int) -> list[Followed]:
    """Sources that sleep until they are signalled."""
    now = datetime.now(UTC)
    published = [now - timedelta(days=7 * age) for age in range(CHAPTERS, 0, -1)]
    return [
        Followed(
            site_key=str(UUID(int=number + 1, version=4)),
            title=f"Series {number:05}",
            published=published,
            cadence=Cadence.COLD,
            last_new_at=published[-1],
            complete_listing_at=now,
            next_check_at=now + timedelta(days=1),
            pinned=Cadence.COLD,
        )
        for number in range(count)
    ]


async def add_readers(stack: BenchStack, followed: Sequence[Followed]) -> None:
    """One follower for each series; the follower's channel is the simulator's sink."""
    sink = stack.simulator_url.replace("http://", "json://") + "/sink"
    readers = [f"reader-{number:02}" for number in range(_READERS)]
    entries = [(readers[n % _READERS], one.source_id) for n, one in enumerate(followed)]
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(
            text("insert into app_user (id, name) values (:name, :name)"), [{"name": n} for n in readers]
        )
        for name in readers:
            await add_channel(connection, stack.dependencies.vault, name, f"{sink}/{name}")
        await connection.execute(
            text("insert into library_entry (user_id, series_id) values (:reader, :series)"),
            [{"reader": reader, "series": series} for reader, series in entries],
        )


async def poll_now(stack: BenchStack, followed: Sequence[Followed]) -> None:
    handles = [stack.client.get_workflow_handle(source_workflow_id(one.source_id)) for one in followed]
    await in_parallel(handles, lambda handle: handle.signal("poll_now"))


async def begin_polling(stack: BenchStack, followed: Sequence[Followed], cadence: Cadence) -> None:
    """Returns when each source was polled once at this cadence."""
    await pin(stack, cadence)
    begin = datetime.now(UTC)
    await poll_now(stack, followed)
    await until_polled_since(stack, begin, len(followed))


async def rest(stack: BenchStack, sources: int) -> None:
    """Returns when no source is due for the next hour or more."""
    await pin(stack, Cadence.COLD)
    asleep = "select count(*) from source where next_check_at > now() + interval '1 hour'"
    async with asyncio.timeout(_PATIENCE):
        while await stack.value(asleep) < sources:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)


async def measure_polls(stack: BenchStack, seconds: float) -> Work:
    """Measure polls for so many seconds; the pace is set before."""
    meter, begin = CpuMeter(stack.supervisor.pids), time.time()
    await asyncio.sleep(seconds)
    end, cpu = time.time(), meter.read()
    return Work(await count_polls(stack, begin, end), end - begin, cpu)


async def count_polls(stack: BenchStack, begin: float, end: float) -> int:
    return sum(request.at < end for request in await stack.simulator.requests(FEEDS, since=begin))


async def connections_of_workers(stack: BenchStack) -> int:
    """The workers' connections to PostgreSQL, without our own, which have the same name."""
    every = await stack.value("select count(*) from pg_stat_activity where application_name = 'fascicle'")
    pool: Any = stack.dependencies.engine.pool
    return int(every) - int(pool.checkedin() + pool.checkedout())


async def measure_chapters(stack: BenchStack, followed: Sequence[Followed]) -> Telling:
    """Release a chapter of each series; measured until the last follower has the message."""
    await in_parallel(followed, lambda one: stack.simulator.release(one.site_key))
    await stack.simulator.clear_sink()
    sent = "select count(*) from delivery where state = 'sent'"
    before = await stack.value(sent)
    meter, begin = CpuMeter(stack.supervisor.pids), time.time()
    await poll_now(stack, followed)
    async with asyncio.timeout(_PATIENCE):
        while await stack.value(sent) < before + len(followed):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)
    seconds, cpu = time.time() - begin, meter.read()
    told = Counter((one.name, one.title, one.message) for one in await stack.simulator.sink())
    twice = sum(times > 1 for times in told.values())
    return Telling(len(followed), seconds, cpu, messages=told.total(), twice=twice)


async def keep_slots_in_mind(stack: BenchStack) -> None:
    """Log every slot of the gate by a trigger, because requests show the slots only imprecisely."""
    async with transaction(stack.dependencies.engine) as connection:
        for statement in _SLOT_LOG:
            await connection.execute(text(statement))


# Plain tables in the bench's own database, which is removed at the end.
_SLOT_LOG = (
    "create table bench_slot (turn bigint, until timestamptz)",
    """create function bench_slot() returns trigger language plpgsql as
       'begin insert into bench_slot values (new.turn, new.next_at); return null; end'""",
    """create trigger bench_slot after update on gate for each row
       when (new.turn <> old.turn) execute function bench_slot()""",
)


async def measure_gate(
    stack: BenchStack, followed: Sequence[Followed], interval: float, *, kill: bool = False
) -> GateWatch:
    """Make all of these due at once, while the site allows one request per interval."""
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text("truncate bench_slot"))
    begin, began_at = time.time(), datetime.now(UTC)
    await poll_now(stack, followed)
    if kill:
        await _until_asked(stack, begin, int(_KILL_AFTER * len(followed)))
        kill_one(stack)
    await until_polled_since(stack, began_at, len(followed))
    async with transaction(stack.dependencies.engine) as connection:
        rows = await connection.execute(text("select extract(epoch from until)::float8 from bench_slot"))
        slots = [float(until) for until in rows.scalars()]
    requests = [(one.at, one.path) for one in await stack.simulator.requests(FEEDS, since=begin)]
    return watch_gate(interval, slots, requests, len(followed), killed=kill)


async def _until_asked(stack: BenchStack, begin: float, wanted: int) -> None:
    async with asyncio.timeout(_PATIENCE):
        while len(await stack.simulator.requests(FEEDS, since=begin)) < wanted:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)
