"""What importing feeds costs, and what each new item in them does, with its page read (I4, I5, I7).

python -m bench.new_items [--feeds 200] [--entries 10] [--per-second 0] [--no-items]

`fascicle feed import` brings all feeds, until each had its first look; then every feed is looked at once
while nothing is new; then every feed publishes an item at the same moment and is looked at, until the pages
of all items are read. `--per-second` spreads the looks: work that comes one by one costs more than a crowd.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import quoteattr

import psutil

from bench.books import in_parallel
from bench.command import at_least_one, open_table, run_bench, say
from bench.feed_costs import OURS, CostMeter, FeedCosts
from bench.stack import BenchStack, open_stack
from fascicle.domain.names import source_workflow_id
from simulator.feeds.records import EntrySpec, FeedSpec

_LOOK_EVERY = 0.5
_PATIENCE_SECONDS = 900.0
# Backends report to the statistics after so long at the latest.
_STATISTICS_SECONDS = 1.5
_ASLEEP = 86_400
_WARM_UP = 3

_NOTES = """\
CPU, user and system, of each process with its children; `reader` is the process that reads documents,
`command` is `fascicle feed import`. The simulator and this bench are not counted. "A look" finds nothing new.
"A new item" is from the signal to look, through storing and delivering it, until its page is read and kept:
a look is part of it. Written: by Temporal's process, to disk. Workflows: started meanwhile."""


@dataclass(frozen=True)
class FeedWork:
    feeds: int
    imported: FeedCosts
    looked: FeedCosts | None
    new_items: FeedCosts | None


async def measure(
    feeds: int, entries: int = 10, *, with_items: bool = True, per_second: float = 0
) -> FeedWork:
    say("starting PostgreSQL, Temporal, the simulator and a worker")
    async with open_stack() as stack, stack.worker(sweep=False, feed_min_seconds=_ASLEEP):
        names = [f"feed-{number:05}" for number in range(feeds)]
        say("the first of everything, which loads modules and models, is not measured")
        warm = [f"warm-{number}" for number in range(_WARM_UP)]
        await import_feeds(stack, warm, entries)
        await _publish(stack, warm)
        await _look_at_all(stack, warm)
        await _until(stack, _ENRICHED, _WARM_UP)
        say(f"importing {feeds} feeds of {entries} entries")
        imported = await import_feeds(stack, names, entries)
        if not with_items:
            return FeedWork(feeds, imported, None, None)
        say("a look at each, with nothing new")
        looked = await _measure_looks(stack, names, per_second)
        say("a new item in each")
        return FeedWork(feeds, imported, looked, await measure_new_items(stack, names, per_second))


async def import_feeds(stack: BenchStack, names: Sequence[str], entries: int) -> FeedCosts:
    """Import by the command; measured from its start until each feed had its first look."""
    await in_parallel(names, lambda name: _add_feed(stack, name, entries))
    meter = CostMeter(stack)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "feeds.opml"
        file.write_text(_opml(stack, names))
        await asyncio.sleep(_STATISTICS_SECONDS)
        await meter.begin()
        seconds = await _run_command("feed", "import", str(file), "--user", "reader")
    await asyncio.sleep(_STATISTICS_SECONDS)
    read = await stack.value("select count(*) from source where first_synced_at is not null")
    if read < len(names):
        raise SystemExit(f"{read} of {len(names)} feeds were read")
    return await meter.read(len(names), command_seconds=seconds)


async def _add_feed(stack: BenchStack, name: str, entries: int) -> None:
    await stack.simulator.feeds.add_feed(FeedSpec(name=name, title=name.title()))
    await stack.simulator.feeds.add_entries(
        name, [EntrySpec(title=f"{name}: history {number}") for number in range(entries)]
    )


def _opml(stack: BenchStack, names: Sequence[str]) -> str:
    lines = (f"<outline type='rss' text={quoteattr(n)} xmlUrl={quoteattr(_url(stack, n))}/>" for n in names)
    return f"<opml version='2.0'><head/><body>{''.join(lines)}</body></opml>"


def _url(stack: BenchStack, name: str) -> str:
    return f"{stack.simulator_url}/feeds/{name}"


async def _run_command(*arguments: str) -> float:
    """Returns the CPU seconds of the command."""
    before = _children_seconds()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "starter.main", *arguments, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise SystemExit(f"fascicle {arguments[0]} {arguments[1]} ended with {process.returncode}")
    return _children_seconds() - before


def _children_seconds() -> float:
    """CPU seconds of children that ended and were waited for."""
    times = psutil.Process(os.getpid()).cpu_times()
    return float(times.children_user + times.children_system)


async def _measure_looks(stack: BenchStack, names: Sequence[str], per_second: float) -> FeedCosts:
    runs = "select count(*) from ingestion_run"
    before = await stack.value(runs)
    return await _measured(stack, names, runs, before + len(names), per_second)


async def measure_new_items(stack: BenchStack, names: Sequence[str], per_second: float = 0) -> FeedCosts:
    """Publish an item in each of these feeds and poll all at once; measured until every page is read."""
    await _publish(stack, names)
    before = await stack.value(_ENRICHED)
    costs = await _measured(stack, names, _ENRICHED, before + len(names), per_second)
    partly = await stack.value("select count(*) from item where jsonb_array_length(metadata -> 'errors') > 0")
    if partly:
        raise SystemExit(f"{partly} items were enriched in part only")
    return costs


_ENRICHED = "select count(*) from item where enrich = 'done'"


async def _measured(
    stack: BenchStack, names: Sequence[str], counted: str, wanted: int, per_second: float
) -> FeedCosts:
    await asyncio.sleep(_STATISTICS_SECONDS)
    meter = CostMeter(stack)
    await meter.begin()
    await _look_at_all(stack, names, per_second)
    own = await _until(stack, counted, wanted)
    await asyncio.sleep(_STATISTICS_SECONDS)
    return await meter.read(len(names), own_transactions=own + len(names))


async def _publish(stack: BenchStack, names: Sequence[str]) -> None:
    await in_parallel(
        names, lambda name: stack.simulator.feeds.add_entry(name, EntrySpec(title=f"{name}: something new"))
    )


async def _look_at_all(stack: BenchStack, names: Sequence[str], per_second: float = 0) -> None:
    """Poll all feeds at once, or so many per second."""

    async def look(name: str) -> None:
        source_id = await stack.value("select source_id from feed where url = :url", url=_url(stack, name))
        await stack.client.get_workflow_handle(source_workflow_id(source_id)).signal("poll_now")

    if not per_second:
        await in_parallel(names, look)
        return
    for name in names:
        await look(name)
        await asyncio.sleep(1 / per_second)


async def _until(stack: BenchStack, counted: str, wanted: int) -> int:
    """Returns the number of transactions that the waiting took."""
    looks = 0
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            looks += 1
            if await stack.value(counted) >= wanted:
                return looks
            await asyncio.sleep(_LOOK_EVERY)


def print_report(work: FeedWork) -> None:
    console, table = open_table(f"{work.feeds:,} feeds", width=180)
    table.add_column("each")
    for name in ("CPU ms", *OURS, "transactions", "requests", "workflows", "Temporal writes", "in all"):
        table.add_column(name, justify="right")
    for title, costs in (
        ("a feed imported", work.imported),
        ("a look", work.looked),
        ("a new item", work.new_items),
    ):
        if costs is not None:
            table.add_row(title, *_cells(costs))
    console.print(table)
    console.print(_NOTES)
    others = max((c.cpu.others for c in (work.imported, work.looked, work.new_items) if c), default=0.0)
    console.print(f"Others used up to {others:.1f} CPU seconds here during one of them.", style="yellow")


def _cells(costs: FeedCosts) -> tuple[str, ...]:
    each = costs.count
    parts = (f"{1000 * costs.cpu_by_process.get(name, 0.0) / each:.1f}" for name in OURS)
    return (
        f"{costs.milliseconds_each:.1f}",
        *parts,
        f"{costs.transactions / each:.1f}",
        f"{costs.requests / each:.2f}",
        f"{costs.workflows / each:.2f}",
        f"{costs.temporal_bytes_written / each / 1000:.0f} kB",
        f"{costs.cpu_seconds:.1f} s CPU, {costs.temporal_bytes_written / 1e6:.0f} MB, {costs.seconds:.0f} s",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=at_least_one, default=200)
    parser.add_argument("--entries", type=at_least_one, default=10, help="of history in each feed")
    parser.add_argument("--per-second", type=float, default=0.0, help="looks; 0: all at once")
    parser.add_argument("--no-items", action="store_true", help="only import them")
    options = parser.parse_args()

    async def bench() -> None:
        work = await measure(
            options.feeds,
            options.entries,
            with_items=not options.no_items,
            per_second=options.per_second,
        )
        print_report(work)

    run_bench(bench)


if __name__ == "__main__":
    main()
