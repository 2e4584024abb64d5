"""Experiments with a worker process that is killed in the middle. They do and record; tests judge."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from simulator.faults import Fault
from tests.chaos.books import Books, Chapter, Telling, is_settled, read_books
from tests.harness import Harness, eventually
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site

FOLLOWERS = ("ann", "bob", "cid")
HISTORY = 3
BACKFILL = 2000
RECOVERY_SECONDS = 90
# Messages take as long, so that no moment comes too late.
LATEST_MOMENT = 1.5


@dataclass(frozen=True)
class Backfill:
    stored_when_killed: int
    requests_after: int
    books: Books


@dataclass(frozen=True)
class Ingest:
    """What was to come in and to be told, and what did and was."""

    was_settled: bool
    chapters: set[Chapter]
    tellings: set[Telling]
    books: Books


async def kill_the_worker_in_a_backfill(site: Site, workers: ForkedWorkers) -> Backfill:
    harness = site.harness
    harness.simulator.faults.add(Fault(kind="delay", delay=1.0, path="/mangadex/manga/*/feed"))
    async with workers.start(site.folder, site.env) as worker:
        await site.until_ready()
        source = await harness.add(harness.series(chapters=BACKFILL))
        await harness.follow("ann", source["series_id"])
        await eventually(lambda: _holds(harness, BACKFILL // 2), what="half of the chapters")
        worker.kill()
    stored = await harness.chapter_count()
    harness.simulator.faults.clear()
    harness.simulator.requests.clear()
    async with workers.start(site.folder, site.env):
        synced = lambda: harness.source_value(source["id"], "first_synced_at")  # noqa: E731
        await eventually(synced, within=RECOVERY_SECONDS, what="the first sync")
        await harness.all_quiet()
    requests = harness.simulator.requests.matching("/mangadex/manga/*/feed")
    return Backfill(stored, len(requests), await read_books(harness))


async def kill_the_worker_while_ingesting(site: Site, workers: ForkedWorkers, moment: str) -> Ingest:
    """`moment` is what the worker is doing when it is killed, or a seed of a random one."""
    harness = site.harness
    series = harness.series(chapters=HISTORY)
    async with workers.start(site.folder, site.env) as worker:
        await site.until_ready()
        source = await harness.add_and_sync(series)
        for name in FOLLOWERS:
            await harness.follow(name, source["series_id"])
        harness.simulator.faults.add(Fault(kind="delay", delay=LATEST_MOMENT, path="/sink"))
        new = {(series.title, str(harness.release(series).chapter)) for _ in range(4)}
        await harness.workflow(source).signal("poll_now")
        await _until_moment(harness, moment)
        worker.kill()
    harness.simulator.faults.clear()
    tellings = tellings_of(new)
    everything = new | {(series.title, str(n)) for n in range(1, HISTORY + 1)}
    settled = await is_settled(harness, len(everything), len(tellings))
    async with workers.start(site.folder, site.env):
        await eventually(
            lambda: is_settled(harness, len(everything), len(tellings)),
            within=RECOVERY_SECONDS,
            what=f"everything in and told ({moment})",
        )
        await harness.all_quiet()
    return Ingest(settled, everything, tellings, await read_books(harness))


MOMENTS: dict[str, Callable[[Harness], Awaitable[Any]]] = {
    "storing": lambda harness: _holds(harness, HISTORY + 1),
    "sending": lambda harness: harness.value("select count(*) from delivery where state = 'sending'"),
}


async def _until_moment(harness: Harness, moment: str) -> None:
    if moment in MOMENTS:
        await eventually(lambda: MOMENTS[moment](harness), what=moment)
    else:
        await asyncio.sleep(Random(moment).uniform(0, LATEST_MOMENT))


async def _holds(harness: Harness, chapters: int) -> bool:
    return await harness.chapter_count() >= chapters


def tellings_of(chapters: set[Chapter]) -> set[Telling]:
    return {(name, *chapter) for name in FOLLOWERS for chapter in chapters}
