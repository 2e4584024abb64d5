"""The looks that per-source polling plans for a day, computed with the domain's own rules and a clock."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bench.followed_series import FollowedSeries
from fascicle.domain.series.cadence import Cadence, Plan, cadence_of, plan_next_check, poll_delay
from fascicle.settings.settings import Settings

_DAY = timedelta(days=1)
# No plan makes so many looks at one series in one day; more mean a mistake.
_MOST_LOOKS = 10_000


@dataclass(frozen=True)
class DayClock:
    """Converts true days to instants of a day that may be compressed."""

    begin: datetime
    speed: float = 1.0

    def at(self, days: float) -> datetime:
        return self.begin + days * _DAY / self.speed

    @property
    def end(self) -> datetime:
        return self.at(1)

    def true(self, length: timedelta) -> timedelta:
        return length * self.speed

    def scaled(self, length: timedelta) -> timedelta:
        return length / self.speed

    def last_new_at(self, series: FollowedSeries) -> datetime:
        """In true days at any speed, because the rule's seven and thirty days cannot be compressed."""
        return self.begin + series.published[-1] * _DAY

    def releases(self, series: FollowedSeries) -> list[datetime]:
        return [self.at(days) for days in series.published]


TRUE_DAY = DayClock(datetime(2026, 1, 12, tzinfo=UTC))
INTERVALS = {
    Cadence.HOT: timedelta(minutes=15),
    Cadence.WARM: timedelta(hours=4),
    Cadence.COLD: timedelta(hours=24),
}


@dataclass
class PlannedDay:
    looks: dict[str, int] = field(default_factory=dict)
    """The number of looks by the series' key."""
    delays: list[timedelta] = field(default_factory=list)
    """The delays of the releases, including those that are found the day after."""

    @property
    def requests(self) -> int:
        return sum(self.looks.values())


@dataclass(frozen=True)
class PlannedSweep:
    requests: int
    median_delay: timedelta
    worst_delay: timedelta


def plan_a_day_of_sweeping(series: int, releases: int, settings: Settings) -> PlannedSweep:
    """For a sweep that takes no time: its looks, a look at each series that it wakes, and the safety net."""
    interval, net = timedelta(seconds=settings.sweep_seconds), timedelta(hours=settings.sweep_net_hours)
    requests = round(_DAY / interval + releases + series * (_DAY / net))
    return PlannedSweep(requests, median_delay=interval / 2, worst_delay=interval * 1.1)


def plan_a_day(followed: Sequence[FollowedSeries], *, learning: bool = True) -> PlannedDay:
    """In true time with each look at its planned moment, as on a machine without limits."""
    day, rng = PlannedDay(), random.Random(0)
    for series in followed:
        _plan_series(series, day, rng, learning)
    return day


def first_look(series: FollowedSeries, clock: DayClock) -> Plan:
    """The first look of a source that is being polled already: part of the time to it is over."""
    intervals = {cadence: clock.scaled(length) for cadence, length in INTERVALS.items()}
    plan = plan_next_check(
        now=clock.begin,
        releases=clock.releases(series),
        last_new_at=clock.last_new_at(series),
        intervals=intervals,
        pinned=None,
        spread=0,
    )
    wait = (plan.next_check_at - clock.begin) * (1 - series.head_start)
    return plan.model_copy(update={"next_check_at": clock.begin + wait})


def _plan_series(series: FollowedSeries, day: PlannedDay, rng: random.Random, learning: bool) -> None:
    clock, looks = TRUE_DAY, 0
    releases, last_new_at = clock.releases(series), clock.last_new_at(series)
    awaited = None if series.release is None else clock.at(series.release)
    now = first_look(series, clock).next_check_at
    while (now < clock.end or (awaited and awaited < clock.end)) and looks < _MOST_LOOKS:
        looks += now < clock.end
        if awaited and awaited <= now:
            day.delays.append(now - awaited)
            releases, last_new_at, awaited = [*releases, awaited], now, None
        now = _next_look(now, releases, last_new_at, rng.uniform(-1, 1), learning)
    day.looks[series.site_key] = looks


def _next_look(
    now: datetime, releases: Sequence[datetime], last_new_at: datetime, spread: float, learning: bool
) -> datetime:
    if not learning:
        return now + poll_delay(cadence_of(last_new_at=last_new_at, now=now), INTERVALS, spread)
    return plan_next_check(
        now=now, releases=releases, last_new_at=last_new_at, intervals=INTERVALS, pinned=None, spread=spread
    ).next_check_at
