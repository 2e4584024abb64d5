"""Predict the next release of a series from its release times.

Two patterns are recognised: a period (weekly, every ten days, monthly; releases may be skipped now and then)
and, where there is none, a usual time of day. Lengths are relative to the period and to `grain`, the shortest
interval at which anyone looks; only the day and its summer time are absolute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from math import ceil
from statistics import median

_DAY = 86_400.0
# A fixed local time moves by this much in UTC, twice a year.
_SUMMER_TIME = 3_600.0

_EVENTS = 20
_FEWEST_INTERVALS = 4
# As a share of the period: gaps that differ by less are the same.
_TOLERANCE = 0.12
# A longer gap, in periods, is a break: no timetable survives it.
_MOST_STEPS = 4
_PHASE_EVENTS = 5
_BURST_CONTRAST = 6
# As a share of the period: a window wider than twice this predicts nothing.
_WIDEST_SLACK = 0.25
_SHORTEST_PERIOD_IN_GRAINS = 12

_FEWEST_FOR_HOURS = 8
_EVENTS_FOR_HOURS = 10
_WIDEST_HOURS = 3 * 3_600.0


@dataclass(frozen=True)
class Window:
    start: datetime
    expected: datetime
    end: datetime


@dataclass(frozen=True)
class Rhythm:
    """Releases are expected at `first` and every `period` after it, give or take `slack`."""

    period: timedelta
    first: datetime
    slack: timedelta
    promised: bool
    """False: if a release comes, it comes in a window, but not in every one."""

    def window(self, now: datetime) -> Window:
        """The window that `now` is in, else the next one."""
        passed = self.passed(now)
        expected = self.first + passed * self.period
        return Window(expected - self.slack, expected, expected + self.slack)

    def passed(self, now: datetime) -> int:
        """How many windows are over by now."""
        return max(0, -((self.first + self.slack - now) // self.period))


def learn_rhythm(releases: Sequence[datetime], *, now: datetime, grain: timedelta) -> Rhythm | None:
    """None: too few releases, or no pattern in them. Dates in the future are no releases."""
    past = sorted({release.timestamp() for release in releases if release <= now})
    return _learn(tuple(past), grain.total_seconds())


@lru_cache(maxsize=4096)  # poll after poll sees the same releases
def _learn(times: tuple[float, ...], grain: float) -> Rhythm | None:
    events = _without_bursts(times, grain)[-_EVENTS:]
    return _periodic(events, grain) or _usual_hours(events, grain)


def _without_bursts(times: Sequence[float], grain: float) -> list[float]:
    """Chapters that came together are one release, at the time of the first."""
    events = _spaced(times, 4 * grain)
    gaps = sorted(later - earlier for earlier, later in pairwise(events))
    # The gaps below the last big jump in the sorted gaps are within bursts.
    within = [
        short
        for short, long in pairwise(gaps[: len(gaps) - _FEWEST_INTERVALS + 1])
        if long >= _BURST_CONTRAST * short
    ]
    return _spaced(events, within[-1]) if within else events


def _spaced(times: Sequence[float], distance: float) -> list[float]:
    followers = [later for earlier, later in pairwise(times) if later - earlier > distance]
    return [*times[:1], *followers]


def _periodic(events: Sequence[float], grain: float) -> Rhythm | None:
    period = _common_period(events)
    if period is None or period < _SHORTEST_PERIOD_IN_GRAINS * grain:
        return None
    first, errors = _next_expected(events, period)
    if not errors:
        return None
    slack = 1.5 * _quantile(errors, 0.8) + 2 * grain + (_SUMMER_TIME if period >= _DAY else 0)
    if slack > _WIDEST_SLACK * period:
        return None
    return Rhythm(timedelta(seconds=period), _moment(first), timedelta(seconds=slack), promised=True)


def _common_period(events: Sequence[float]) -> float | None:
    """The period: most gaps are one period long, or a few periods if releases were skipped."""
    gaps = [later - earlier for earlier, later in pairwise(events)]
    if len(gaps) < _FEWEST_INTERVALS:
        return None
    rough = max(gaps, key=lambda gap: len(_fitting(gaps, gap, 1.5 * _TOLERANCE)))
    fitting = _fitting(gaps, rough, 1.5 * _TOLERANCE)
    period = _mean_without_strays([(gap, round(gap / rough)) for gap in fitting])
    if round(median(gaps) / period) != 1:
        return None
    offsets = _timetable_offsets(events, period)
    on_time = [offset for offset in offsets if abs(offset - median(offsets)) <= _TOLERANCE * period]
    agrees = _convincing(len(_fitting(gaps, period, _TOLERANCE)), len(gaps))
    return period if agrees or _convincing(len(on_time) - 1, len(gaps)) else None


def _mean_without_strays(gaps: Sequence[tuple[float, int]]) -> float:
    """The length of one step; gaps around a late release would pull a plain mean away."""
    middle = median(gap / steps for gap, steps in gaps)
    strays = 3 * median(abs(gap - steps * middle) for gap, steps in gaps)
    near = [(gap, steps) for gap, steps in gaps if abs(gap - steps * middle) <= strays]
    return sum(gap for gap, _ in near) / sum(steps for _, steps in near)


def _convincing(agreeing: int, total: int) -> bool:
    """Are there enough that agree: all of a few, two thirds of many?"""
    return agreeing >= max(_FEWEST_INTERVALS, 0.6 * total + 1.5)


def _fitting(gaps: Sequence[float], period: float, tolerance: float) -> list[float]:
    return [gap for gap in gaps if _fits(gap, period, tolerance)]


def _fits(gap: float, period: float, tolerance: float) -> bool:
    return 1 <= round(gap / period) <= _MOST_STEPS and _stray(gap, period) <= tolerance * period


def _stray(gap: float, period: float) -> float:
    """How far a gap is from a whole number of periods."""
    return abs(gap - round(gap / period) * period)


def _next_expected(events: Sequence[float], period: float) -> tuple[float, list[float]]:
    """The first release after the last one, and how far the same guess was off in the past.

    By a timetable, a late release does not move the next one; by a habit, the next one counts from the last
    release. The guess uses whichever explains the past better.
    """
    by_habit = [_stray(b - a, period) for a, b in pairwise(events) if _fits(b - a, period, _TOLERANCE)]
    offsets = _timetable_offsets(events, period)
    by_timetable = [
        error
        for i in range(1, len(offsets))
        if (error := abs(offsets[i] - median(offsets[:i][-_PHASE_EVENTS:]))) <= _TOLERANCE * period
    ]
    last = events[-1]
    if len(by_timetable) < _FEWEST_INTERVALS or (by_habit and median(by_habit) < median(by_timetable)):
        return last + period, by_habit
    origin = events[-len(offsets)] + median(offsets[-_PHASE_EVENTS:])
    # An extra chapter in between must not hide the regular one after it.
    steps = (last + 0.3 * period - origin) // period + 1
    return origin + steps * period, by_timetable


def _timetable_offsets(events: Sequence[float], period: float) -> list[float]:
    """How far each release since the last long break was from its place in the timetable."""
    offsets = [0.0]
    for earlier, later in pairwise(events):
        gap = later - earlier
        steps = round(gap / period)
        offsets = [*offsets, offsets[-1] + gap - steps * period] if steps <= _MOST_STEPS else [0.0]
    return offsets


def _usual_hours(events: Sequence[float], grain: float) -> Rhythm | None:
    """A time of day around which nearly all releases came, on whatever day."""
    events = events[-_EVENTS_FOR_HOURS:]
    if len(events) < _FEWEST_FOR_HOURS or grain * _SHORTEST_PERIOD_IN_GRAINS > _DAY:
        return None
    hours = sorted(event % _DAY for event in events)
    needed = ceil(0.85 * len(hours))
    around = hours + [hour + _DAY for hour in hours]
    width, start = min((around[i + needed - 1] - around[i], around[i]) for i in range(len(hours)))
    if width > _WIDEST_HOURS:
        return None
    last = events[-1]
    middle = last + (start + width / 2 - last) % _DAY
    slack = width / 2 + grain + _SUMMER_TIME
    return Rhythm(timedelta(days=1), _moment(middle), timedelta(seconds=slack), promised=False)


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
