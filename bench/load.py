"""`make bench`: what everything costs, against the limits of this machine, in one table and as JSON.

python -m bench.load [--only PART …] [--json bench/results.json]

Parts: sync (with idle polls), feeds, releases, items, restart, memory, commands. The limits are measured in
the same run: a bare workflow with one timer and one empty activity on the same server, and the rows of a
first sync by plain asyncpg. docs/scaling.md says what the numbers mean.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import memory, new_items, restart
from bench.bare import BareLimit, measure_bare
from bench.books import in_parallel, start_workflows
from bench.cli import measure_commands
from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import cores
from bench.feed_cadence import publish_feed, until_read, write_books
from bench.limit import measure_limit
from bench.polls import IdlePolls, measure_idle_polls, measure_looks, rhythms
from bench.releases import FOLLOWERS, measure_releases
from bench.stack import open_stack
from bench.sync import measure_first_sync, register_sources
from fascicle.domain.names import source_workflow_id

_SERIES, _CHAPTERS = 100, 200
_SECONDS = 15.0
_FEEDS, _EVERY = 200, 10.0
_RELEASES, _BURST = 20, 200
_QUIET = {"sweep": False, "enrich": False, "complete_listing_hours": 1000}


@dataclass(frozen=True)
class Row:
    part: str
    measure: str
    value: float
    unit: str
    aim: float | None = None
    """The highest good value; for `%` the lowest."""
    of: str = ""
    """The parts of the value, or the limit."""

    @property
    def is_met(self) -> bool | None:
        if self.aim is None:
            return None
        return self.value >= self.aim if self.unit == "%" else self.value <= self.aim


async def measure_sync_and_polls(options: argparse.Namespace) -> list[Row]:
    """On one stack: bare workflows, a first sync, its raw rows, idle polls."""
    async with open_stack() as stack:
        say("bare workflows")
        bare = await measure_bare(stack, _SERIES, _SERIES / 20, _SECONDS)
        await register_sources(stack, _SERIES, _CHAPTERS)
        async with stack.worker(**rhythms(_SERIES), **_QUIET):
            say("first sync")
            sync = await measure_first_sync(stack, _SERIES, _CHAPTERS)
            say("the same rows again with asyncpg alone")
            raw = await measure_limit(stack)
            say("idle polls")
            paced, saturated = await measure_idle_polls(stack, _SECONDS)
    limit = 1 / (1 / raw.chapters_per_second + 1 / (bare.starts_per_second * _CHAPTERS))
    share = 100 * sync.chapters_per_second / limit
    return [
        Row("sync", "raw asyncpg", raw.chapters_per_second, "chapters/s"),
        Row("sync", "bare workflows with one empty activity", bare.starts_per_second, "/s"),
        Row("sync", "first sync of 100 × 200 chapters", sync.chapters_per_second, "chapters/s"),
        Row("sync", "  of raw rows plus bare workflows", share, "%", 60, f"{limit:,.0f} chapters/s"),
        *_poll_rows(bare, paced, saturated),
    ]


def _poll_rows(bare: BareLimit, paced: IdlePolls, saturated: IdlePolls) -> Iterator[Row]:
    limit = bare.paced.milliseconds
    yield Row("polls", "bare workflow, timer and empty activity", limit, "ms CPU", None, "the limit")
    yield Row(
        "polls", "  writes to Temporal's store", bare.paced.footprint.temporal_writes / bare.paced.polls, ""
    )
    total = sum(paced.milliseconds.values())
    yield Row("polls", "idle poll by timer", total, "ms CPU", 1.3 * limit, _parts(paced.milliseconds))
    yield from _footprint_rows("polls", paced)
    total = sum(saturated.milliseconds.values())
    yield Row("polls", "idle poll back to back", total, "ms CPU", None, _parts(saturated.milliseconds))
    yield Row("polls", "  polls a second", saturated.polls_per_second, "/s")


def _footprint_rows(part: str, polls: IdlePolls) -> Iterator[Row]:
    left, count = polls.footprint, polls.polls
    yield Row(part, "  events in history", left.events / count, "")
    yield Row(part, "  writes to Temporal's store", left.temporal_writes / count, "")
    yield Row(
        part, "  written by Temporal", polls.written / count / 1000, "kB", 20 if part == "feeds" else None
    )
    yield Row(part, "  PostgreSQL's log", left.wal_bytes / count / 1000, "kB")


async def measure_feeds(options: argparse.Namespace) -> list[Row]:
    async with open_stack() as stack:
        await in_parallel(range(1, _FEEDS + 1), lambda number: publish_feed(stack, number))
        async with stack.worker(cadence_hot_seconds=_EVERY, feed_min_seconds=1, **_QUIET):
            ids = await write_books(stack, _FEEDS, _EVERY)
            await start_workflows(stack, ids)
            await until_read(stack, _FEEDS, 300)
            await asyncio.sleep(2 * _EVERY)
            say("unchanged feeds")
            workflows = [source_workflow_id(i) for i in ids]
            polls = await measure_looks(stack, workflows, "/feeds/feed-*", 2 * _SECONDS)
    total = sum(polls.milliseconds.values())
    return [
        Row("feeds", "304 poll of a feed, by timer", total, "ms CPU", 15, _parts(polls.milliseconds)),
        *_footprint_rows("feeds", polls),
    ]


async def measure_chapters(options: argparse.Namespace) -> list[Row]:
    async with open_stack() as stack, stack.worker(notify_delay_seconds=0, notify_daily_cap=10**6, **_QUIET):
        say(f"{_RELEASES} releases one by one, then {_BURST} at once")
        found = await measure_releases(stack, _RELEASES, _BURST)
    left, parts = found.footprint, {name: 1000 * cpu / found.burst for name, cpu in found.cpu.items()}
    rows_of = f"rows of {FOLLOWERS} followers"
    return [
        Row("releases", f"one release → {rows_of}, median", 1000 * found.median, "ms", 40),
        Row("releases", "  95 %", 1000 * found.quantile(0.95), "ms"),
        Row("releases", f"{_BURST} at once: first row", found.first_row, "s", 0.5),
        Row("releases", "  last row", found.last_row, "s", 5),
        Row("releases", "  CPU a chapter", found.milliseconds, "ms CPU", 50, _parts(parts)),
        Row("releases", "  writes to Temporal's store a chapter", left.temporal_writes / found.burst, "", 27),
        Row("releases", "  actions a chapter", left.actions / found.burst, "", 7),
    ]


async def measure_items(options: argparse.Namespace) -> list[Row]:
    work = await new_items.measure(options.feeds)
    rows = []
    for measure, costs, aim in (
        ("a feed imported and read for the first time", work.imported, 40),
        ("a new feed item, its page read", work.new_items, 80),
    ):
        if costs is None:
            continue
        each = {name: 1000 * cpu / costs.count for name, cpu in costs.cpu_by_process.items()}
        rows.append(Row("items", measure, costs.milliseconds_each, "ms CPU", aim, _parts(each)))
        written = costs.temporal_bytes_written / costs.count / 1000
        rows.append(Row("items", "  written by Temporal", written, "kB", 100 if aim == 40 else None))
    return rows


async def measure_restarts(options: argparse.Namespace) -> list[Row]:
    found = await restart.measure_restart(options.feeds, options.polls, 60)
    of = f"{found.warm:.0f} polls/s when warm, {found.back:.0f} after"
    return [
        Row("restart", f"polling after an outage, {found.feeds} sources", 100 * found.share, "%", 80, of),
        Row("restart", "  first poll after", found.first_poll, "s"),
        Row("restart", "  workflow tasks that timed out", found.timed_out, "", 0),
    ]


async def measure_memory(options: argparse.Namespace) -> list[Row]:
    use = await memory.measure(options.feeds, 60, 20, 65)
    *processes, total = use.rows
    parts = ", ".join(f"{row.process} {row.many_feeds:.0f}" for row in processes)
    return [
        Row("memory", f"PSS at rest, {memory.FEW} feeds", total.few_feeds, "MB"),
        Row("memory", f"PSS at rest, {use.feeds} feeds", total.many_feeds, "MB", 450, parts),
        Row("memory", f"  after {use.polls} polls", total.after_polls, "MB", 450),
    ]


async def measure_command_line(options: argparse.Namespace) -> list[Row]:
    async with open_stack() as stack, stack.worker():
        costs = await measure_commands(stack)
    return [
        Row("commands", one.command, one.cpu_seconds, "s CPU", 0.35, f"{one.times_python:.0f} × python")
        for one in costs
    ]


PARTS: dict[str, Callable[[argparse.Namespace], Awaitable[list[Row]]]] = {
    "sync": measure_sync_and_polls,
    "feeds": measure_feeds,
    "releases": measure_chapters,
    "items": measure_items,
    "restart": measure_restarts,
    "memory": measure_memory,
    "commands": measure_command_line,
}


def _parts(milliseconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {ms:.1f}" for name, ms in milliseconds.items() if ms >= 0.05)


def print_rows(rows: list[Row]) -> None:
    console, table = open_table(f"Load, on {cores()} cores", width=150)
    for column in ("part", "measure", "value", "aim", "", "of which"):
        table.add_column(column, justify="right" if column in ("value", "aim") else "left")
    for row in rows:
        met = {None: "", True: "met", False: "missed"}[row.is_met]
        aim = "" if row.aim is None else f"{'≥' if row.unit == '%' else '≤'} {row.aim:,.3g}"
        table.add_row(row.part, row.measure, f"{row.value:,.3g} {row.unit}", aim, met, row.of)
    console.print(table)
    console.print("CPU: user and system time of worker, Temporal and PostgreSQL; others' is not counted.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="PART")
    parser.add_argument("--feeds", type=at_least_one, default=300, help="of items, restart and memory")
    parser.add_argument("--polls", type=at_least_one, default=10, help="of each feed before the restart")
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results.json")
    options = parser.parse_args()

    async def bench() -> None:
        rows: list[Row] = []
        for name in options.only:
            say(f"== {name}")
            rows += await PARTS[name](options)
            options.json.write_text(json.dumps([{**asdict(r), "met": r.is_met} for r in rows], indent=1))
        print_rows(rows)

    run_bench(bench)


if __name__ == "__main__":
    main()
