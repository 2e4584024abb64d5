"""What more worker processes bring against one server, what a poll costs whom, and whether gates stay exact.

python -m bench.scale [--workers 3] [--sources 100] [--seconds 10] [--chapters 60]
    [--requests 40] [--interval 0.2] [--partitions 1]

Crews of 1, 2, 3 … worker processes, and one of two with a role each, do the same work on the same stack. Then
one worker of a crew is killed while all sources wait at one gate, and two workers are restarted in turn, ten
times in all, under load. Exits with 1 if a slot came too early, a request had none, a message was sent twice,
or a restart lost a task. docs/scaling.md multiplies what this measures.
"""

import argparse
import asyncio
import time
from typing import Any

from bench.books import add_to_the_site, start_workflows, write_books
from bench.command import at_least_one, run_bench, say
from bench.crew import BY_ROLE, Crew, alike, at_work, memory_of_temporal, memory_of_workers
from bench.distances import GateWatch
from bench.footprint import footprint, until_all_have_run
from bench.polls import rhythms
from bench.rolling import RESTARTS, measure_rolling
from bench.scale_report import Costs, Results, Shift, print_report
from bench.scale_work import (
    add_readers,
    begin_polling,
    connections_of_workers,
    count_polls,
    keep_slots_in_mind,
    make_sources,
    measure_chapters,
    measure_gate,
    measure_polls,
    rest,
)
from bench.stack import BenchStack, open_stack
from fascicle.domain.names import source_workflow_id
from fascicle.domain.series.cadence import Cadence

_REST_SECONDS = 5.0


class Scale:
    def __init__(self, stack: BenchStack, options: argparse.Namespace) -> None:
        self._stack = stack
        self._options = options
        self._followed = make_sources(options.sources)
        self._ids = [source_workflow_id(one.source_id) for one in self._followed]

    async def measure(self) -> Results:
        stack, crews = self._stack, [*map(alike, range(1, self._options.workers + 1)), BY_ROLE]
        say(f"making {len(self._followed)} sources")
        await keep_slots_in_mind(stack)
        await add_to_the_site(stack, self._followed)
        async with at_work(stack, crews[0], **self._settings()):
            costs = await self._costs()
        shifts = [await self._shift(crew) for crew in crews]
        say(f"{crews[-2].name}, one of them is killed at the gate")
        killed = await self._gate(crews[-2], kill=True)
        say(f"{RESTARTS} rolling restarts")
        rolling = await measure_rolling(stack, self._followed, self._settings())
        return Results(costs, shifts, killed, rolling)

    async def _costs(self) -> Costs:
        """Measured with a worker that has just started, so that the growth of its memory is visible."""
        stack, interval = self._stack, rhythms(len(self._followed))["cadence_warm_seconds"]
        say("opening them")
        before = await footprint(stack, [])
        memory = memory_of_workers(stack), memory_of_temporal(stack)
        await write_books(stack, self._followed)
        await add_readers(stack, self._followed)
        await start_workflows(stack, [one.source_id for one in self._followed])
        await until_all_have_run(stack, self._ids)
        opened = await footprint(stack, self._ids)
        memory = memory_of_workers(stack) - memory[0], memory_of_temporal(stack) - memory[1]
        say("everything asleep")
        resting = await measure_polls(stack, _REST_SECONDS)
        say("polls by timer, at an easy pace")
        await begin_polling(stack, self._followed, Cadence.WARM)
        # All polls of that round came at once; another round spreads them.
        await asyncio.sleep(interval)
        # Both footprints take the same time and order, so each source is watched for the same time.
        begin, began = time.time(), await footprint(stack, self._ids)
        paced = await measure_polls(stack, max(2 * interval, self._options.seconds))
        end, of_polls = time.time(), (await footprint(stack, self._ids)).since(began)
        polls = await count_polls(stack, begin, end)
        await rest(stack, len(self._followed))
        return Costs(opened.since(before), *memory, resting, paced, of_polls, polls)

    async def _shift(self, crew: Crew) -> Shift:
        stack = self._stack
        async with at_work(stack, crew, **self._settings()):
            say(f"{crew.name}: polls back to back")
            await begin_polling(stack, self._followed, Cadence.HOT)
            polls = await measure_polls(stack, self._options.seconds)
            connections = await connections_of_workers(stack)
            await rest(stack, len(self._followed))
            say(f"{crew.name}: a new chapter each of {self._options.chapters} series")
            before = await footprint(stack, [])
            chapters = await measure_chapters(stack, self._followed[: self._options.chapters])
            of_chapters = (await footprint(stack, [])).since(before)
        say(f"{crew.name}: all at one gate")
        return Shift(crew, polls, chapters, of_chapters, connections, await self._gate(crew))

    async def _gate(self, crew: Crew, *, kill: bool = False) -> GateWatch:
        interval, waiting = self._options.interval, self._followed[: self._options.requests]
        async with at_work(self._stack, crew, **self._settings(mangadex_interval_seconds=interval)):
            return await measure_gate(self._stack, waiting, interval, kill=kill)

    def _settings(self, **more: float) -> dict[str, Any]:
        return {
            **rhythms(len(self._followed)),
            "sweep": False,
            "complete_listing_hours": 1000,
            "notify_delay_seconds": 0,
            "notify_daily_cap": 1_000_000,
            **more,
        }


def main() -> None:
    options = _options()

    async def run() -> None:
        say("starting PostgreSQL, Temporal and the simulator")
        async with open_stack(_partitioned(options.partitions)) as stack:
            results = await Scale(stack, options).measure()
            say("stopping")
        print_report(results, options.sources)
        if results.faults:
            raise SystemExit("; ".join(results.faults))

    run_bench(run)


def _partitioned(count: int) -> dict[str, str]:
    """A cluster has four partitions of each task queue by default, the embedded server has one."""
    return {f"matching.numTaskqueue{way}Partitions": str(count) for way in ("Read", "Write")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workers", type=at_least_one, default=3, help="processes of the largest crew")
    parser.add_argument("--sources", type=at_least_one, default=100)
    parser.add_argument("--seconds", type=at_least_one, default=10, help="of polling, for each crew")
    parser.add_argument("--chapters", type=at_least_one, default=60, help="new ones, for each crew")
    parser.add_argument("--requests", type=at_least_one, default=40, help="that wait at the strict gate")
    parser.add_argument("--interval", type=float, default=0.2, metavar="S", help="of the strict gate")
    parser.add_argument("--partitions", type=at_least_one, default=1, help="of each task queue")
    options = parser.parse_args()
    if max(options.chapters, options.requests) > options.sources:
        parser.error("--chapters and --requests are at most one for each of --sources")
    if options.interval <= 0:
        parser.error("--interval must be more than 0")
    return options


if __name__ == "__main__":
    main()
