"""A new item for ten thousand subscribers, and reading feeds (I1, I4).

python -m bench.feeds [--subscribers 10000] [--rounds 7] [--seconds 5]

Fan-out: our statement, as a poll runs it, against a plain INSERT … SELECT of as many rows into a table of
the same shape, by turns in the same run. Reading: our reader against feedparser alone.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import CpuMeter, CpuUse
from bench.feed_parsing import ALONE, BARE, OURS, Parsing, measure_parsing
from bench.stack import BenchStack, open_stack
from fascicle.domain.names import source_workflow_id
from fascicle.services.feeds.following import Subscribed, subscribe
from fascicle.services.feeds.look import feed_books
from fascicle.storage.database import transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds.item import FAN_OUT
from fascicle.storage.series import library
from simulator.feeds.records import EntrySpec, FeedSpec

_PATIENCE_SECONDS = 120.0

_READERS = "insert into app_user (id, name) select 'r' || n, 'reader-' || n from generate_series(2, :count) n"
_SUBSCRIPTIONS = """insert into subscription (user_id, source_id)
select id, :source_id from app_user on conflict do nothing"""
_PLAIN_TABLES = (
    "create table plain_inbox (like inbox_item including all)",
    "create table bound_inbox (like inbox_item including all)",
    """alter table bound_inbox add foreign key (user_id) references app_user (id) on delete cascade,
       add foreign key (item_id) references item (id) on delete cascade,
       add foreign key (source_id) references source (id) on delete set null""",
)
_PLAIN_INSERT = """insert into {table} (user_id, item_id, source_id, arrived_at)
select user_id, :item_id, source_id, now() from subscription where source_id = :source_id"""

_NOTES = """\
Rows a second, the median of all rounds, by turns. The plain tables have the columns, the key and the indexes
of the inbox; one has its three foreign keys as well, which are checked for every row. Our statement is timed
where the driver sends it, inside of `FeedStore.store`; storing is that whole transaction, commit included.
The poll: from the entry being published and the poll asked for, through Temporal, the worker, HTTP and the
reader's process, until the last inbox row is there for everybody to see.
Reading: processor time; both find the same titles before the clock starts. feedparser alone makes HTML
harmless and addresses absolute; we do the one with what is new only, the other with what is needed."""


@dataclass
class FanOut:
    subscribers: int
    statement: list[float] = field(default_factory=list)
    storing: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    cpu: CpuUse | None = None

    def rate(self, seconds: list[float]) -> float:
        return self.subscribers / median(seconds)


async def measure(subscribers: int, rounds: int) -> FanOut:
    say("starting PostgreSQL, Temporal, the simulator and a worker")
    async with open_stack() as stack, stack.worker(enrich=False, sweep=False):
        say(f"{subscribers} people subscribe")
        subscribed = await _subscribe(stack, subscribers)
        result = FanOut(subscribers)
        meter = CpuMeter(stack.supervisor.pids)
        async with _timed(stack.dependencies.engine, str(FAN_OUT), result.statement):
            for number in range(rounds):
                say(f"round {number + 1} of {rounds}")
                await _round(stack, subscribed.source_id, result, number)
        for number in range(rounds):
            result.polls.append(await _poll(stack, subscribed.source_id, subscribers, f"Polled {number}"))
        result.cpu = meter.read()
        return result


async def _subscribe(stack: BenchStack, count: int) -> Subscribed:
    """Subscribe one reader as people do it, and the others directly in the database."""
    await stack.simulator.feeds.add_feed(FeedSpec(name="popular", title="Popular"))
    await stack.simulator.feeds.add_entries("popular", [EntrySpec(title=f"History {n}") for n in range(20)])
    async with transaction(stack.dependencies.engine) as connection:
        user_id, _ = await library.add_user(connection, "reader-1")
    subscribed = await subscribe(stack.dependencies, stack.client, _url(stack), user_id)
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text(_READERS), {"count": count})
        await connection.execute(text(_SUBSCRIPTIONS), {"source_id": subscribed.source_id})
        for statement in _PLAIN_TABLES:
            await connection.execute(text(statement))
        await connection.execute(text("analyze"))
    return subscribed


def _url(stack: BenchStack) -> str:
    return f"{stack.dependencies.settings.mangadex_url.removesuffix('/mangadex')}/feeds/popular"


async def _round(stack: BenchStack, source_id: str, result: FanOut, number: int) -> None:
    """Store a new entry as a poll does, then insert the same number of rows by plain statements."""
    await stack.simulator.feeds.add_entry("popular", EntrySpec(title=f"Stored {number}"))
    dependencies = stack.dependencies
    parsed = await dependencies.feeds.read(await dependencies.feeds.fetch(_url(stack)))
    store = feed_books(dependencies.settings).store
    began = time.perf_counter()
    async with transaction(dependencies.engine) as connection:
        feed = await feeds.locked(connection, source_id)
        assert feed is not None
        stored = await store.store(connection, feed, parsed, dependencies.clock())
    result.storing.append(time.perf_counter() - began)
    if stored.delivered != result.subscribers:
        raise AssertionError(f"{stored.delivered} rows instead of {result.subscribers}")
    async with transaction(dependencies.engine) as connection:
        newest = await connection.scalar(
            text("select max(item_id) from feed_item where source_id = :id"), {"id": source_id}
        )
    values = {"source_id": source_id, "item_id": newest}
    for table, seconds in (("plain_inbox", result.plain), ("bound_inbox", result.bound)):
        async with transaction(dependencies.engine) as connection:
            began = time.perf_counter()
            await connection.execute(text(_PLAIN_INSERT.format(table=table)), values)
            seconds.append(time.perf_counter() - began)


@asynccontextmanager
async def _timed(engine: AsyncEngine, statement: str, seconds: list[float]) -> AsyncIterator[None]:
    """Appends the time of each execution of the statement to `seconds`."""
    opening = statement.strip().partition("\n")[0]
    began = [0.0]

    def before(_connection: Any, _cursor: Any, sql: str, *_rest: Any) -> None:
        began[0] = time.perf_counter()

    def after(_connection: Any, _cursor: Any, sql: str, *_rest: Any) -> None:
        if sql.strip().startswith(opening):
            seconds.append(time.perf_counter() - began[0])

    event.listen(engine.sync_engine, "before_cursor_execute", before)
    event.listen(engine.sync_engine, "after_cursor_execute", after)
    yield
    event.remove(engine.sync_engine, "before_cursor_execute", before)
    event.remove(engine.sync_engine, "after_cursor_execute", after)


async def _poll(stack: BenchStack, source_id: str, subscribers: int, title: str) -> float:
    arrived = "select count(*) from inbox_item join item on item.id = item_id where item.title = :title"
    handle = stack.client.get_workflow_handle(source_workflow_id(source_id))
    began = time.perf_counter()
    await stack.simulator.feeds.add_entry("popular", EntrySpec(title=title))
    await handle.signal("poll_now")
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while await stack.value(arrived, title=title) < subscribers:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return time.perf_counter() - began


def print_report(fan_out: FanOut, parsing: Parsing) -> None:
    console, table = open_table(f"a new item for {fan_out.subscribers:,} subscribers")
    for column in ("what", "seconds", "rows/s", "our statement's share"):
        table.add_column(column, justify="left" if column == "what" else "right")
    ours = fan_out.rate(fan_out.statement)
    for name, seconds in (
        ("plain INSERT … SELECT, same keys and indexes", fan_out.bound),
        ("  without foreign keys", fan_out.plain),
    ):
        rate = fan_out.rate(seconds)
        table.add_row(name, f"{median(seconds):.3f}", f"{rate:,.0f}", f"{100 * ours / rate:.0f} %")
    for name, seconds in (
        ("our fan-out statement", fan_out.statement),
        ("storing as a whole, with commit", fan_out.storing),
        ("the whole poll, as people see it", fan_out.polls),
    ):
        table.add_row(name, f"{median(seconds):.3f}", f"{fan_out.rate(seconds):,.0f}", "")
    console.print(table)
    _print_parsing(parsing)
    console.print(_NOTES)
    if fan_out.cpu:
        console.print(
            f"Meanwhile others used {fan_out.cpu.others:.1f} CPU seconds here and the host withheld "
            f"{fan_out.cpu.withheld:.1f}. Not near 0? Measure again when it is quiet.",
            style="yellow",
        )


def _print_parsing(parsing: Parsing) -> None:
    sizes = ", ".join(f"{len(d.body) / 1000:.0f} kB {d.content_type}" for d in parsing.documents)
    console, table = open_table(f"reading feeds of {parsing.documents[0].entries} articles: {sizes}")
    for column in ("reader", "ms a document", "MB/s", "ours is faster by"):
        table.add_column(column, justify="left" if column == "reader" else "right")
    for name, pace in parsing.paces.items():
        factor = f"{parsing.ratio(OURS, name):.2f} times" if name in (ALONE, BARE) else ""
        table.add_row(name, f"{pace.milliseconds:.1f}", f"{pace.megabytes_per_second:.2f}", factor)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subscribers", type=at_least_one, default=10_000)
    parser.add_argument("--rounds", type=at_least_one, default=7)
    parser.add_argument("--seconds", type=at_least_one, default=5, help="how long to read documents")
    options = parser.parse_args()

    async def bench() -> None:
        say("reading feeds")
        parsing = measure_parsing(options.seconds)
        print_report(await measure(options.subscribers, options.rounds), parsing)

    run_bench(bench)


if __name__ == "__main__":
    main()
