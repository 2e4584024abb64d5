"""The tables that `bench.scale` prints."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.command import open_table
from bench.cpu import DRIVER, CpuUse, cores
from bench.crew import Crew, of_parts
from bench.distances import NEAR, GateWatch
from bench.footprint import Footprint
from bench.rolling import RESTARTS, Rolling
from bench.scale_work import Telling, Work

_PARTS = ("temporal", "workers", "postgres")
_WORK_NOTES = """\
Everything shares the cores of this machine, the simulated site and this program included: where the CPU is
all used, more workers cannot bring more, and what counts is the CPU that a poll or a chapter takes of each
part. Polls: nothing new, all sources due all the time, so no timers. Chapters: one released for each series,
found by a poll that a signal asked for, stored by a child, told to one follower by another."""
_GATE_NOTES = """\
All sources are due at once and the site allows one request each interval. Slots: what the database gave,
written down by a trigger; none may be nearer than the interval. Requests: what the site saw, blurred by the
time that a process takes to set out; near: below {near:.0%} of the interval. Used: of the rate that the
interval permits. Twice: pages; what a killed worker had asked for may be asked for again by another, once its
heartbeats have been missed for long enough: that is its longest pause."""
_COST_NOTES = """\
One worker, polls by timer: a timer, an activity and their workflow tasks each. Transitions, events and bytes
of history: what Temporal says of the sources' workflows. Actions: what the server counts as such, which is
what Temporal Cloud limits and charges for. Writes: requests of the server to its store. File: the dev
server's SQLite; it reuses what was freed, so take it for the order of magnitude. WAL: what PostgreSQL writes,
full pages after a checkpoint included."""


@dataclass(frozen=True)
class Costs:
    """The costs with one worker at a slow pace, at which nothing waits."""

    opened: Footprint
    worker_bytes: int
    temporal_bytes: int
    """The growth of the worker's and Temporal's memory by opening the sources."""
    resting: Work
    paced: Work
    of_polls: Footprint
    polls: int
    """The number of polls in `of_polls`."""


@dataclass(frozen=True)
class Shift:
    """The measurements of one crew."""

    crew: Crew
    polls: Work
    chapters: Telling
    of_chapters: Footprint
    connections: int
    gate: GateWatch


@dataclass(frozen=True)
class Results:
    costs: Costs
    shifts: list[Shift]
    killed: GateWatch
    rolling: Rolling

    @property
    def faults(self) -> list[str]:
        watched = [*(shift.gate for shift in self.shifts), self.killed]
        doubled = sum(shift.chapters.twice for shift in self.shifts)
        return [
            *(fault for watch in watched for fault in watch.faults),
            *([f"{doubled} messages told twice"] if doubled else []),
            *self.rolling.faults,
        ]


def print_report(results: Results, sources: int) -> None:
    _print_work(results, sources)
    _print_gates(results)
    _print_rolling(results.rolling)
    _print_costs(results.costs, results.shifts[0], sources)


def _print_work(results: Results, sources: int) -> None:
    console, table = open_table(f"{sources} sources, one server, {cores()} cores")
    for column in ("", "polls/s", "of one", f"CPU ms a poll: {' / '.join(_PARTS)}", "chapters/s", "of one"):
        table.add_column(column, justify="right" if column else "left")
    for column in (f"CPU ms a chapter: {' / '.join(_PARTS)}", "told / twice", "connections"):
        table.add_column(column, justify="right")
    first = results.shifts[0]
    for shift in results.shifts:
        polls, chapters = shift.polls, shift.chapters
        table.add_row(
            shift.crew.name,
            f"{polls.rate:.0f}",
            f"{polls.rate / first.polls.rate:.2f}",
            _each(polls),
            f"{chapters.rate:.1f}",
            f"{chapters.rate / first.chapters.rate:.2f}",
            _each(chapters),
            f"{chapters.messages} / {chapters.twice}",
            str(shift.connections),
        )
    console.print(table)
    console.print(_WORK_NOTES)
    console.print(
        _disturbance([use for s in results.shifts for use in (s.polls, s.chapters)]), style="yellow"
    )


def _print_gates(results: Results) -> None:
    interval = results.killed.slots.interval
    console, table = open_table(f"One gate, a request each {interval * 1000:g} ms")
    table.add_column("")
    for column in (
        "slots",
        "closest",
        "too early",
        "requests",
        "closest",
        "near",
        "mean",
        "longest",
        "used",
        "twice",
    ):
        table.add_column(column, justify="right")
    named = [(shift.crew.name, shift.gate) for shift in results.shifts]
    for name, watch in (*named, (f"{len(results.shifts) - 1}, one killed", results.killed)):
        slots, requests = watch.slots, watch.requests
        table.add_row(
            name,
            str(slots.count + 1),
            f"{slots.closest * 1000:.3f} ms",
            str(slots.nearer_than(1.0)),
            str(requests.count + 1),
            f"{requests.closest * 1000:.0f} ms",
            str(requests.nearer_than(NEAR)),
            f"{requests.mean * 1000:.1f} ms",
            f"{requests.longest:.1f} s",
            f"{requests.used:.0%}",
            str(watch.twice),
        )
    console.print(table)
    console.print(_GATE_NOTES.format(near=NEAR))
    console.print("; ".join(results.faults) or "Every gate was kept, and nothing was lost.", style="bold")


def _print_rolling(rolling: Rolling) -> None:
    console, table = open_table(f"{RESTARTS} rolling restarts of two workers, in {rolling.seconds:.0f} s")
    table.add_column("")
    table.add_column("", justify="right")
    table.add_row("polls meanwhile", str(rolling.polls))
    table.add_row("activities lost by a stop", str(rolling.lost_activities))
    table.add_row("workflow tasks lost by a stop", str(rolling.lost_workflow_tasks))
    table.add_row("longest pause between two polls of one source", f"{rolling.longest_pause:.1f} s")
    console.print(table)


def _print_costs(costs: Costs, shift: Shift, sources: int) -> None:
    console, table = open_table("What it costs")
    table.add_column("")
    table.add_column("", justify="right")
    for row in (*_cost_rows(costs, sources), *_chapter_rows(shift)):
        table.add_row(*row)
    console.print(table)
    console.print(_COST_NOTES)
    console.print(_disturbance([costs.resting, costs.paced]), style="yellow")


def _cost_rows(costs: Costs, sources: int) -> Iterator[tuple[str, str]]:
    asleep = costs.resting
    yield f"asleep, in 1/1000 of a core: {' / '.join(_PARTS)}", _per(asleep.cpu, asleep.seconds)
    yield "a source: memory of the worker that has it cached", _kb(costs.worker_bytes / sources)
    yield "a source: memory of the server", _kb(costs.temporal_bytes / sources)
    yield "a source, 20 chapters, one follower: PostgreSQL", _kb(costs.opened.database_bytes / sources)
    yield "a source: transitions to open it", f"{costs.opened.transitions / sources:.1f}"
    yield "a source: Temporal's file", _kb(costs.opened.temporal_bytes / sources)
    paced, left = costs.paced, costs.of_polls
    yield f"a poll by timer: CPU ms, {' / '.join(_PARTS)}", _each(paced)
    yield "  without what they use asleep", _each(paced, asleep)
    yield "  transitions", f"{left.transitions / costs.polls:.2f}"
    yield "  events", f"{left.events / costs.polls:.2f}"
    yield "  history", _kb(left.history_bytes / costs.polls)
    yield "  actions", f"{left.actions / costs.polls:.2f}"
    yield "  writes to Temporal's store", f"{left.temporal_writes / costs.polls:.1f}"
    yield "  Temporal's file", _kb(left.temporal_bytes / costs.polls)
    yield "  WAL of PostgreSQL", _kb(left.wal_bytes / costs.polls)


def _chapter_rows(shift: Shift) -> Iterator[tuple[str, str]]:
    chapters, left = shift.chapters, shift.of_chapters
    yield f"a chapter: CPU ms, {' / '.join(_PARTS)}", _each(chapters)
    yield "  actions", f"{left.actions / chapters.done:.1f}"
    yield "  writes to Temporal's store", f"{left.temporal_writes / chapters.done:.0f}"
    yield "  Temporal's file", _kb(left.temporal_bytes / chapters.done)
    yield "  WAL of PostgreSQL", _kb(left.wal_bytes / chapters.done)


def _each(work: Work, asleep: Work | None = None) -> str:
    """Milliseconds of CPU of each part, for one poll or chapter."""
    if not work.done:
        return "-"
    if asleep is None:
        return _per(work.cpu, work.done)
    used, idle = of_parts(work.cpu), of_parts(asleep.cpu)
    ours = [used[part] - idle[part] * work.seconds / asleep.seconds for part in _PARTS]
    return _milliseconds([seconds / work.done for seconds in ours])


def _per(cpu: CpuUse, count: float) -> str:
    parts = of_parts(cpu)
    return _milliseconds([parts[part] / count for part in _PARTS])


def _milliseconds(seconds: list[float]) -> str:
    return f"{' / '.join(f'{part * 1000:.1f}' for part in seconds)} = {sum(seconds) * 1000:.1f}"


def _kb(size: float) -> str:
    return f"{size / 1000:,.1f} kB"


def _disturbance(works: list[Work]) -> str:
    seconds = sum(work.seconds for work in works)
    parts = ("simulator", DRIVER)
    ours = ", ".join(f"{p} {sum(of_parts(w.cpu)[p] for w in works) / seconds:.2f}" for p in parts)
    others = sum(work.cpu.others for work in works) / seconds
    withheld = sum(work.cpu.withheld for work in works) / seconds
    return (
        f"Cores meanwhile: {ours}; others here {others:.2f}, withheld by the host {withheld:.2f}. "
        "Not near 0? The rates are too low then; CPU for each is the surer number."
    )
