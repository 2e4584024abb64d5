"""Whether a thousand sources polling through one worker keep their cadence.

python -m bench.rhythm [--sources 1000] [--minutes 10] [--hot-seconds 60]

Every source is pinned to HOT; the sweep is off. The lag of a poll: from the moment it was due, by the plan
that the poll before it stored, to the moment the site was asked.
"""

import argparse
import asyncio
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from uuid import UUID

from sqlalchemy import text

from bench.books import Followed, add_to_the_site, start_workflows, write_books
from bench.command import at_least_one, open_table, run_bench, say
from bench.cpu import CpuMeter, CpuUse, cores
from bench.stack import BenchStack, open_stack
from fascicle.domain.series.cadence import Cadence
from fascicle.storage.database import transaction

_FEEDS = "/mangadex/manga/*/feed"
_CHAPTERS = 20
# Starting a workflow takes a small machine about a hundredth of a second.
_STARTS_PER_SECOND = 60
# The jitter of C2: a poll that is late by less than this share of the interval is still in time.
_JITTER = 0.1
_MINUTE = 60.0

_NOTES = """\
Due: the `next_check_at` that each poll stores for the next one (the interval ±10 %). Lag: from there to the
request in the site's log, so through Temporal's timer, the workflow, the task queue, the worker, the database
and the gate (passed with a distance of 0). The cadence is kept where every poll that was due was made and the
lag of 95 in 100 stays within the jitter, a tenth of the interval, in the last minute as in the first.
CPU: user and system time, children included; "bench" is this program, which only reads `next_check_at`."""


@dataclass(frozen=True)
class Lags:
    due: int
    lags: list[float]
    """The lags in seconds of the polls that were made."""

    def quantile(self, share: float) -> float:
        ordered = sorted(self.lags)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


@dataclass
class Appointments:
    """When each series was due, as the database said at the time."""

    due: defaultdict[str, set[float]] = field(default_factory=lambda: defaultdict(set))

    async def watch(self, stack: BenchStack, every: float) -> None:
        """Note plans until cancelled. No plan is missed, because each lasts nine tenths of the interval."""
        while True:
            async with transaction(stack.dependencies.engine) as connection:
                rows = await connection.execute(text("select site_key, next_check_at from source"))
                for site_key, next_check_at in rows:
                    self.due[site_key].add(next_check_at.timestamp())
            await asyncio.sleep(every)

    def lags(
        self, asked: dict[str, list[float]], begin: float, end: float
    ) -> list[tuple[float, float | None]]:
        """For each poll due from begin to end: its due time and its lag; None: it was not made."""
        found = []
        for site_key, dues in self.due.items():
            moments = asked.get(site_key, [])
            for due in sorted(dues):
                if begin <= due < end:
                    position = bisect_left(moments, due)
                    made = moments[position] if position < len(moments) else None
                    found.append((due, None if made is None else made - due))
        return sorted(found)


@dataclass(frozen=True)
class Rhythm:
    sources: int
    interval: float
    begin: float
    end: float
    polls: list[tuple[float, float | None]]
    made: int
    cpu: CpuUse

    def between(self, begin: float, end: float) -> Lags:
        due = [lag for at, lag in self.polls if begin <= at < end]
        return Lags(len(due), [lag for lag in due if lag is not None])

    def minutes(self) -> Iterator[tuple[str, Lags]]:
        count = max(1, round((self.end - self.begin) / _MINUTE))
        for number in range(count):
            begin = self.begin + number * _MINUTE
            end = self.end if number == count - 1 else begin + _MINUTE
            yield f"minute {number + 1}", self.between(begin, end)

    @property
    def whole(self) -> Lags:
        return self.between(self.begin, self.end)

    @property
    def is_kept(self) -> bool:
        parts = [self.whole, *(lags for _, lags in (*self.minutes(),))]
        return all(
            len(p.lags) == p.due and p.quantile(0.95) <= _JITTER * self.interval for p in parts if p.due
        )


async def measure(sources: int, minutes: float, interval: float) -> Rhythm:
    say("starting PostgreSQL, Temporal and the simulator")
    async with open_stack() as stack:
        say(f"making {sources} sources and starting a worker")
        await add_to_the_site(stack, _followed(sources, time.time(), interval))
        async with stack.worker(cadence_hot_seconds=interval, sweep=False, complete_listing_hours=1000):
            say("starting their workflows")
            first = time.time() + 5 + sources / _STARTS_PER_SECOND
            followed = _followed(sources, first, interval)
            await write_books(stack, followed)
            await start_workflows(stack, [one.source_id for one in followed])
            if time.time() > first:
                say(f"that took {time.time() - first:.0f} s longer than planned: the first polls are late")
            return await _measure(stack, sources, minutes * _MINUTE, interval, first)


async def _measure(stack: BenchStack, sources: int, seconds: float, interval: float, first: float) -> Rhythm:
    appointments = Appointments()
    watching = asyncio.create_task(appointments.watch(stack, every=min(5.0, interval / 4)))
    # Let one round pass, so that all measured polls follow from plans of earlier polls.
    begin = max(first, time.time()) + 1.1 * interval
    await asyncio.sleep(max(0.0, begin - time.time()))
    say(f"{seconds / _MINUTE:g} minutes of polling every {interval:g} s")
    meter = CpuMeter(stack.supervisor.pids)
    begin = time.time()
    await asyncio.sleep(seconds)
    end, cpu = time.time(), meter.read()
    # Polls that were due in the last seconds may be late, and are counted too.
    await asyncio.sleep(max(5.0, _JITTER * interval))
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    asked: dict[str, list[float]] = defaultdict(list)
    for request in await stack.simulator.requests(_FEEDS, since=begin):
        asked[request.path.split("/")[3]].append(request.at)
    made = sum(at < end for moments in asked.values() for at in moments)
    return Rhythm(sources, interval, begin, end, appointments.lags(asked, begin, end), made, cpu)


def _followed(sources: int, first: float, interval: float) -> list[Followed]:
    """Sources whose first looks are spread over one interval."""
    now = datetime.now(UTC)
    published = [now - timedelta(days=7 * age) for age in range(_CHAPTERS, 0, -1)]
    return [
        Followed(
            site_key=str(UUID(int=number + 1, version=4)),
            title=f"Series {number:05}",
            published=published,
            cadence=Cadence.HOT,
            last_new_at=published[-1],
            complete_listing_at=now,
            next_check_at=datetime.fromtimestamp(first + interval * number / sources, UTC),
            pinned=Cadence.HOT,
        )
        for number in range(sources)
    ]


def print_report(rhythm: Rhythm) -> None:
    title = f"{rhythm.sources:,} sources, each every {rhythm.interval:g} s, one worker, {cores()} cores"
    console, table = open_table(title, width=110)
    table.add_column("")
    for column in ("polls due", "made", "lag: median", "p95", "worst"):
        table.add_column(column, justify="right")
    for name, lags in (*rhythm.minutes(), ("all", rhythm.whole)):
        table.add_row(name, f"{lags.due:,}", f"{len(lags.lags):,}", *_lag_cells(lags))
    console.print(table)
    seconds = rhythm.end - rhythm.begin
    console.print(f"{rhythm.made / seconds:.1f} polls/s. CPU, in cores: {_loads(rhythm.cpu, seconds)}.")
    console.print(_verdict(rhythm), style="bold")
    console.print(_NOTES)
    console.print(
        f"Meanwhile others used {rhythm.cpu.others / seconds:.2f} cores here and the host withheld "
        f"{rhythm.cpu.withheld / seconds:.2f}. Not near 0? Measure again when it is quiet.",
        style="yellow",
    )


def _lag_cells(lags: Lags) -> Sequence[str]:
    if not lags.lags:
        return "-", "-", "-"
    worst = max(lags.lags)
    return f"{median(lags.lags):.2f} s", f"{lags.quantile(0.95):.2f} s", f"{worst:.2f} s"


def _loads(cpu: CpuUse, seconds: float) -> str:
    ordered = sorted(cpu.processes.items(), key=lambda part: -part[1])
    return ", ".join(f"{name} {used / seconds:.2f}" for name, used in ordered)


def _verdict(rhythm: Rhythm) -> str:
    whole = rhythm.whole
    if rhythm.is_kept:
        return "The cadence was kept the whole time."
    missing = whole.due - len(whole.lags)
    return f"The cadence was NOT kept: {missing} polls not made, p95 of the lag {whole.quantile(0.95):.1f} s."


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rhythm", description=__doc__)
    parser.add_argument("--sources", type=at_least_one, default=1000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--hot-seconds", type=float, default=60, metavar="S", help="from poll to poll")
    options = parser.parse_args()

    async def run() -> None:
        print_report(await measure(options.sources, options.minutes, options.hot_seconds))

    run_bench(run)


if __name__ == "__main__":
    main()
