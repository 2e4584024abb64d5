"""Two thousand feeds polled through one worker, most of the time for nothing (I1, I4).

python -m bench.feed_cadence [--feeds 2000] [--seconds 120] [--every 120]

Every feed is pinned to HOT, which is `--every` seconds here. The lag of a poll: from the moment it was due,
by the plan that the poll before it stored, to the moment the site was asked. What bounds it is the processor:
a poll takes about 70 ms of it, nearly all of them in Temporal and the worker, so that two cores end at thirty
polls a second; with more workflows than the worker keeps in memory (a thousand), at twenty. In real life a
feed is polled every five minutes at most.
"""

import argparse
import asyncio
import random
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median

from sqlalchemy import text

from bench.books import in_parallel, start_workflows
from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import CpuMeter, cores
from bench.rhythm import Appointments, Rhythm
from bench.stack import BenchStack, open_stack
from fascicle.domain.names import FEED_SITE
from fascicle.storage.database import transaction
from simulator.feeds.records import EntrySpec, FeedSpec
from simulator.request_log import LoggedRequest

_ENTRIES = 10
_READERS = 5
# This share of all feeds has news, each about once in an interval.
_LIVELY = 0.01
# Starting a workflow and reading a feed for the first time takes a few hundredths of a second.
_FIRST_READINGS_PER_SECOND = 15
_SETTLING_SECONDS = 10

_READERS_ROWS = (
    "insert into app_user (id, name) select 'r' || n, 'r' || n from generate_series(1, :readers) n"
)
_SOURCE_ROWS = """
insert into source (id, site, site_key, url, title, cadence, pinned_cadence, next_check_at)
select 's' || n, :site, :base || n, :base || n, 'Feed ' || n, 'HOT', 'HOT',
  now() + make_interval(secs => :within * n / :feeds)
from generate_series(1, :feeds) n"""
_FEED_ROWS = "insert into feed (source_id, url) select id, site_key from source"
_SUBSCRIPTION_ROWS = (
    "insert into subscription (user_id, source_id) select u.id, s.id from app_user u, source s"
)
_ARRIVED = """
select item.title from inbox_item join item on item.id = inbox_item.item_id
where item.title like 'News %' group by item.title having count(*) >= :readers"""
# The precision with which the arrival of news is measured.
_LOOK_EVERY = 0.25

_NOTES = """\
Due: the `next_check_at` that each poll stores for the next one (the interval ±10 %). Lag: from there to the
request in the site's log, so through Temporal's timer, the workflow, the task queue, the worker, the database
and the gate (passed with a distance of 0; all feeds are one host's here, so all pass the same row of it).
News: from the entry being published until it is in every reader's inbox; half of it is waiting for the next
poll. Making feeds, starting workflows and the first readings are not counted.
CPU: user and system time, children included; "bench" is this program, which publishes and watches."""


@dataclass
class News:
    """When each entry was published, and when all readers had it."""

    published: dict[str, float] = field(default_factory=dict)
    arrived: dict[str, float] = field(default_factory=dict)

    async def publish(self, stack: BenchStack, feeds: int, seconds: float, every: float) -> None:
        """Publish entries of random lively feeds at random intervals."""
        rng = random.Random(6)
        lively = rng.sample(range(1, feeds + 1), max(1, round(_LIVELY * feeds)))
        pause, end = every / len(lively), time.time() + seconds
        while time.time() < end:
            title = f"News {len(self.published)}"
            self.published[title] = time.time()
            await stack.simulator.feeds.add_entry(f"feed-{rng.choice(lively)}", EntrySpec(title=title))
            await asyncio.sleep(pause * rng.uniform(0.5, 1.5))

    async def watch(self, stack: BenchStack) -> None:
        """Note arrivals until cancelled."""
        while True:
            async with transaction(stack.dependencies.engine) as connection:
                rows = await connection.execute(text(_ARRIVED), {"readers": _READERS})
                for title in rows.scalars():
                    self.arrived.setdefault(title, time.time())
            await asyncio.sleep(_LOOK_EVERY)

    async def all_in(self, *, within: float) -> None:
        """Wait until all news have arrived, but not longer than `within`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while len(self.arrived) < len(self.published):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_EVERY)

    @property
    def delays(self) -> list[float]:
        return [self.arrived[title] - at for title, at in self.published.items() if title in self.arrived]


@dataclass(frozen=True)
class FeedCadence:
    rhythm: Rhythm
    statuses: Counter[int | None]
    commits: int
    """Transactions of the database by all clients."""
    news: News


async def measure(feeds: int, seconds: float, every: float) -> FeedCadence:
    say("starting PostgreSQL, Temporal and the simulator")
    async with open_stack() as stack:
        say(f"making {feeds} feeds and starting a worker")
        await in_parallel(range(1, feeds + 1), lambda number: publish_feed(stack, number))
        settings = {"cadence_hot_seconds": every, "feed_min_seconds": min(1.0, every), "sweep": False}
        async with stack.worker(**settings, enrich=False):
            # The first readings are spread, so that the later polls are spread too.
            within = max(every, feeds / _FIRST_READINGS_PER_SECOND)
            source_ids = await write_books(stack, feeds, within)
            say("starting their workflows, which read them for the first time")
            await start_workflows(stack, source_ids)
            await until_read(stack, feeds, 60 + 5 * within)
            return await _measure(stack, feeds, seconds, every)


async def publish_feed(stack: BenchStack, number: int) -> None:
    name = f"feed-{number}"
    await stack.simulator.feeds.add_feed(FeedSpec(name=name, title=f"Feed {number}"))
    entries = [EntrySpec(title=f"{name} {entry}") for entry in range(_ENTRIES)]
    await stack.simulator.feeds.add_entries(name, entries)


async def write_books(stack: BenchStack, feeds: int, within: float) -> list[str]:
    """Store feeds as an import does: followed, but not read yet."""
    base = f"{stack.dependencies.settings.mangadex_url.removesuffix('/mangadex')}/feeds/feed-"
    sources = {"site": FEED_SITE, "base": base, "feeds": feeds, "within": within}
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text(_READERS_ROWS), {"readers": _READERS})
        await connection.execute(text(_SOURCE_ROWS), sources)
        await connection.execute(text(_FEED_ROWS))
        await connection.execute(text(_SUBSCRIPTION_ROWS))
        rows = await connection.execute(text("select id from source order by next_check_at"))
        return list(rows.scalars())


async def until_read(stack: BenchStack, feeds: int, patience: float) -> None:
    read = "select count(*) from source where first_synced_at is not null"
    async with asyncio.timeout(patience):
        while await stack.value(read) < feeds:  # noqa: ASYNC110
            await asyncio.sleep(1)


async def _measure(stack: BenchStack, feeds: int, seconds: float, every: float) -> FeedCadence:
    appointments, news = Appointments(), News()
    watching = asyncio.gather(appointments.watch(stack, every=min(5.0, every / 4)), news.watch(stack))
    await asyncio.sleep(_SETTLING_SECONDS)
    say(f"{seconds:g} s of polling every {every:g} s")
    meter, commits = CpuMeter(stack.supervisor.pids), await _commits(stack)
    begin = time.time()
    await news.publish(stack, feeds, seconds, every)
    end, cpu, commits = time.time(), meter.read(), await _commits(stack) - commits
    say("until the last news are in")
    await news.all_in(within=1.2 * every)
    # Polls that were due in the last seconds may be late, and are counted too.
    await asyncio.sleep(max(5.0, 0.1 * every))
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    asked = await stack.simulator.requests("/feeds/feed-*", since=begin)
    made = [request for request in asked if request.at < end]
    polls = appointments.lags(_by_feed(stack, asked), begin, end)
    rhythm = Rhythm(feeds, every, begin, end, polls, len(made), cpu)
    statuses = Counter(request.status for request in made)
    return FeedCadence(rhythm, statuses, commits, news)


def _by_feed(stack: BenchStack, requests: list[LoggedRequest]) -> dict[str, list[float]]:
    base = stack.dependencies.settings.mangadex_url.removesuffix("/mangadex")
    asked: dict[str, list[float]] = defaultdict(list)
    for request in requests:
        asked[f"{base}{request.path}"].append(request.at)
    return asked


async def _commits(stack: BenchStack) -> int:
    return int(
        await stack.value("select xact_commit from pg_stat_database where datname = current_database()")
    )


def print_report(cadence: FeedCadence) -> None:
    rhythm = cadence.rhythm
    whole, seconds = rhythm.whole, rhythm.end - rhythm.begin
    console, table = open_table(
        f"{rhythm.sources:,} feeds, each every {rhythm.interval:g} s, one worker, {cores()} cores", width=110
    )
    table.add_column("")
    for column in ("median", "95 %", "worst"):
        table.add_column(column, justify="right")
    if whole.lags:
        lags = (median(whole.lags), whole.quantile(0.95), max(whole.lags))
        table.add_row("lag of a poll", *(f"{lag:.2f} s" for lag in lags))
    if delays := cadence.news.delays:
        table.add_row("news in the inbox after", f"{median(delays):.1f} s", "", f"{max(delays):.1f} s")
    console.print(table)
    unchanged = cadence.statuses[304] / max(1, rhythm.made)
    console.print(
        f"{whole.due:,} polls due, {len(whole.lags):,} of them made; {rhythm.made / seconds:.1f} polls/s, "
        f"{100 * unchanged:.1f} % answered 304; {cadence.commits / max(1, rhythm.made):.1f} transactions a "
        f"poll; {len(delays)} of {len(cadence.news.published)} news arrived."
    )
    used = sorted(rhythm.cpu.processes.items(), key=lambda part: -part[1])
    per_poll = 1000 * rhythm.cpu.total / max(1, rhythm.made)
    console.print(
        f"CPU seconds in {seconds:.0f} s: {', '.join(f'{name} {cpu:.1f}' for name, cpu in used)}; "
        f"{per_poll:.1f} ms a poll in all."
    )
    kept = "was kept" if rhythm.is_kept else "was NOT kept"
    console.print(
        f"The cadence {kept} (95 in 100 within a tenth of the interval, none left out).", style="bold"
    )
    console.print(_NOTES)
    console.print(
        f"Meanwhile others used {rhythm.cpu.others / seconds:.2f} cores here and the host withheld "
        f"{rhythm.cpu.withheld / seconds:.2f}. Not near 0? Measure again when it is quiet.",
        style="yellow",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=at_least_one, default=2000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=float, default=120, metavar="SECONDS", help="from poll to poll")
    options = parser.parse_args()

    async def bench() -> None:
        print_report(await measure(options.feeds, options.seconds, options.every))

    run_bench(bench)


if __name__ == "__main__":
    main()
