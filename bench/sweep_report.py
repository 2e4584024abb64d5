"""The table that `python -m bench.sweep` prints."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from bench.command import open_table
from bench.cpu import CpuUse, cores
from bench.followed_series import FollowedSeries
from bench.planned import TRUE_DAY, PlannedDay, PlannedSweep
from bench.scaled_day import LIST_OF_NEWS, LOOKS, WHOLE_LISTS, MeasuredDay
from fascicle.domain.series.cadence import Cadence, cadence_of

_AIM = 50
_MEASURED_PROCESSES = ("temporal", "worker", "postgres")

_NOTES = """\
Computed: the domain's own rules and a clock, in true time, for every series; "plain" is the rule of C2 (15
min, 4 h, 24 h), "learned" what Fascicle does without the sweep. Measured: the real stack, the day compressed,
every interval divided by the same number.
The polling that was measured: all series that bring a chapter, and of the others as many as the machine keeps
its rhythm with; their requests and events are counted as often as each stands for others. Two things cannot
be compressed: the seven and thirty days of the rule, so that nobody cools down within the day; and the minute
that release times are rounded to before a rhythm is learned, so that less is learned than in true time.
The sweep that was measured: all series open and asleep, each looking by itself once a month (the safety net:
its whole lists). A sweep takes its time besides its interval, and that is multiplied: it looks less often
than the 720 times a day that are computed. The aim is judged by the numbers that are worse for the sweep.
The site lists nothing but followed series.
Delay: from the release to the moment that its chapter was stored with, in true time: what the machine takes
is multiplied too. A release not found by the end of the day counts with the time it had been out.
Events: by how much the histories of all workflows grew."""


@dataclass(frozen=True)
class Comparison:
    followed: Sequence[FollowedSeries]
    speed: float
    by_plain_rule: PlannedDay
    planned: PlannedDay
    planned_sweep: PlannedSweep
    polling: MeasuredDay
    sweep: MeasuredDay

    @property
    def polling_requests(self) -> int:
        """The lower number of the computed and the measured requests, which is harder to beat."""
        return min(self.planned.requests, self.polling.requests.total())

    @property
    def polling_delay(self) -> timedelta:
        return min(_median(self.planned.delays), _median(_all_delays(self.polling)))

    @property
    def sweep_requests(self) -> int:
        """The higher number of the computed and the measured requests."""
        return max(self.planned_sweep.requests, self.sweep.requests.total())

    @property
    def fewer(self) -> float:
        return self.polling_requests / self.sweep_requests


Row = tuple[str, str, str, str, str, str, str]


def print_report(result: Comparison) -> None:
    title = (
        f"{len(result.followed):,} followed series ({_mix(result.followed)}), "
        f"{sum(one.release is not None for one in result.followed)} releases in a day of "
        f"{1440 / result.speed:g} minutes, {cores()} cores"
    )
    console, table = open_table(title, width=150)
    table.add_column("a day")
    for column in ("plain polling", "learned polling", "sweep"):
        table.add_column(f"{column}\ncomputed", justify="right")
    for column in ("learned polling", "sweep"):
        table.add_column(f"{column}\nmeasured", justify="right")
    table.add_column("measured:\npolling ÷ sweep", justify="right")
    for row in (*_request_rows(result), *_delay_rows(result), *_cost_rows(result)):
        table.add_row(*row)
    console.print(table)
    console.print(_verdict(result), style="bold")
    console.print(_NOTES)
    console.print(_disturbance(result), style="yellow")


def _request_rows(result: Comparison) -> Iterator[Row]:
    polling, sweep = result.polling, result.sweep
    every = f"{len(result.followed):,}"
    yield "sources with a workflow", every, every, every, f"{polling.sources:,}", f"{sweep.sources:,}", ""
    yield (
        *("requests", f"{result.by_plain_rule.requests:,}", f"{result.planned.requests:,}"),
        *(
            f"{result.planned_sweep.requests:,}",
            f"{polling.requests.total():,}",
            f"{sweep.requests.total():,}",
        ),
        _times(polling.requests.total(), sweep.requests.total()),
    )
    for kind in (LIST_OF_NEWS, LOOKS, WHOLE_LISTS):
        yield f"  {kind}", "", "", "", f"{polling.requests[kind]:,}", f"{sweep.requests[kind]:,}", ""
    yield "  really made", "", "", "", f"{polling.asked:,}", f"{sweep.asked:,}", ""


def _delay_rows(result: Comparison) -> Iterator[Row]:
    computed = (result.by_plain_rule.delays, result.planned.delays)
    measured = (_all_delays(result.polling), _all_delays(result.sweep))
    sweep = result.planned_sweep
    measures: tuple[tuple[str, Callable[[Sequence[timedelta]], timedelta], timedelta], ...] = (
        ("median delay", _median, sweep.median_delay),
        ("worst delay", max, sweep.worst_delay),
    )
    for name, of, swept in measures:
        plain, learned, polled, found = (_length(of(delays)) for delays in (*computed, *measured))
        ratio = _times(of(measured[0]), of(measured[1]))
        yield name, plain, learned, _length(swept), polled, found, ratio
    lost = (len(result.polling.lost), len(result.sweep.lost))
    yield "  not found by the end of the day", "", "", "", f"{lost[0]}", f"{lost[1]}", ""


def _cost_rows(result: Comparison) -> Iterator[Row]:
    polling, sweep = result.polling, result.sweep
    totals = (polling.events.total(), sweep.events.total())
    yield "Temporal events", "", "", "", f"{totals[0]:,}", f"{totals[1]:,}", _times(*totals)
    for kind in sorted({*polling.events, *sweep.events}):
        cells = [_count(day.events, kind) for day in (polling, sweep)]
        yield f"  {kind}", "", "", "", cells[0], cells[1], ""
    yield "sources overdue at its end", "", "", "", f"{polling.overdue:,}", f"{sweep.overdue:,}", ""
    yield f"CPU in cores: {' + '.join(_MEASURED_PROCESSES)}", "", "", "", _load(polling), _load(sweep), ""


def _verdict(result: Comparison) -> str:
    delay = _median(_all_delays(result.sweep))
    shorter = delay < result.polling_delay
    reached = shorter and result.fewer >= _AIM and not result.sweep.lost
    requests = result.sweep_requests
    without_net = requests - result.sweep.requests[WHOLE_LISTS]
    return (
        f"Aim, {_AIM} times fewer requests than learned polling at a shorter median delay: "
        f"{'reached' if reached else 'missed'}. {result.fewer:.0f} times fewer requests, delay "
        f"{_length(delay)} instead of {_length(result.polling_delay)}. Against plain polling "
        f"{result.by_plain_rule.requests / requests:.0f} times fewer; without the safety net's whole lists "
        f"{result.polling_requests / without_net:.0f} times fewer than learned polling."
    )


def _all_delays(day: MeasuredDay) -> list[timedelta]:
    return [*day.delays, *day.lost]


def _median(delays: Sequence[timedelta]) -> timedelta:
    return timedelta(seconds=median(delay.total_seconds() for delay in delays))


def _mix(followed: Sequence[FollowedSeries]) -> str:
    cadences = Counter(
        cadence_of(last_new_at=TRUE_DAY.last_new_at(one), now=TRUE_DAY.begin) for one in followed
    )
    return ", ".join(f"{cadences[cadence]:,} {cadence}" for cadence in Cadence)


def _times(large: float | timedelta, small: float | timedelta) -> str:
    """The ratio of two numbers or of two lengths."""
    return f"{large / small:.1f} ×" if small else "-"  # type: ignore[operator]


def _count(events: Counter[str], kind: str) -> str:
    return f"{events[kind]:,}"


def _length(delay: timedelta) -> str:
    minutes = delay.total_seconds() / 60
    return f"{minutes:.1f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def _load(day: MeasuredDay) -> str:
    used = day.cpu.processes
    return " + ".join(f"{used[name] / day.seconds:.2f}" for name in _MEASURED_PROCESSES)


def _disturbance(result: Comparison) -> str:
    days = (result.polling, result.sweep)

    def cores_of(seconds: Callable[[CpuUse], float]) -> str:
        return " / ".join(f"{seconds(day.cpu) / day.seconds:.2f}" for day in days)

    return (
        f"While polling / sweep were measured, others used {cores_of(lambda use: use.others)} cores here and "
        f"the host withheld {cores_of(lambda use: use.withheld)}. Not near 0? Measure again when it is quiet."
    )
