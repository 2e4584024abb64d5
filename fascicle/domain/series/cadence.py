"""How often a source is looked at (C2)."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel

from fascicle.domain.series.release_rhythm import Rhythm, Window, learn_rhythm

WARM_AFTER = timedelta(days=7)
COLD_AFTER = timedelta(days=30)

# So many HOT intervals, or so much of the period, may pass without a look while nothing is expected.
_QUIET_HOT_INTERVALS = 16
_QUIET_SHARE = 1 / 6
# Towards a window the looks get closer, because an early release gets more likely.
_APPROACH_SHARE = 1 / 4
# The looks inside a window are this share of the looks that the HOT interval makes in a whole period.
_WINDOW_SHARE = 1 / 16
_DENSEST_SHARE_OF_HOT = 1 / 3
_WIDEST_SHARE_OF_HOT = 4 / 5
_SHORTEST_DELAY = timedelta(seconds=1)
# A late release is looked for at the HOT interval for this share of its period, even if the rule says WARM:
# the rule makes a weekly series WARM exactly when its release is late.
_LATE_SHARE = 2 / 7
# After so many windows without a release, the rhythm is ignored.
_HIATUS_AFTER = 4


class Cadence(StrEnum):
    HOT = "HOT"
    WARM = "WARM"
    COLD = "COLD"

    @property
    def priority_key(self) -> int:
        """Temporal's priority: 1 goes first."""
        return {Cadence.HOT: 1, Cadence.WARM: 3, Cadence.COLD: 5}[self]


def cadence_of(*, last_new_at: datetime | None, now: datetime, pinned: Cadence | None = None) -> Cadence:
    """A new chapter makes a source HOT, seven quiet days WARM, thirty COLD; a pin overrides."""
    if pinned is not None:
        return pinned
    if last_new_at is None:
        return Cadence.HOT  # not synced yet: a first sync that failed must not wait for a day
    if now - last_new_at >= COLD_AFTER:
        return Cadence.COLD
    return Cadence.WARM if now - last_new_at >= WARM_AFTER else Cadence.HOT


def poll_delay(cadence: Cadence, intervals: Mapping[Cadence, timedelta], spread: float) -> timedelta:
    """The interval of a cadence, moved by up to ±10 %: `spread` is a random number from -1 to 1."""
    return intervals[cadence] * (1 + 0.1 * max(-1.0, min(1.0, spread)))


class Plan(BaseModel):
    cadence: Cadence
    """By the rule of C2; HOT while a release is expected or late, so that the look goes first."""
    next_check_at: datetime
    reason: str


def plan_next_check(
    *,
    now: datetime,
    releases: Sequence[datetime],
    last_new_at: datetime | None,
    intervals: Mapping[Cadence, timedelta],
    pinned: Cadence | None,
    spread: float,
) -> Plan:
    """When to look next: often around the time a release is expected, rarely before, by the rule if late.

    `releases` are the latest release times of the series, in any order; twenty distinct ones are enough.
    `spread` is a random number from -1 to 1.
    """
    cadence = cadence_of(last_new_at=last_new_at, now=now, pinned=pinned)
    by_rule = Plan(
        cadence=cadence,
        next_check_at=now + poll_delay(cadence, intervals, spread),
        reason=cadence if pinned is None else f"{cadence}, pinned",
    )
    if pinned is not None or last_new_at is None:
        return by_rule
    rhythm = learn_rhythm(releases, now=now, grain=intervals[Cadence.HOT])
    if rhythm is None or _is_on_hiatus(rhythm, cadence, now):
        return by_rule
    return _by_rhythm(rhythm, now, cadence, intervals, max(-1.0, min(1.0, spread)))


def _is_on_hiatus(rhythm: Rhythm, cadence: Cadence, now: datetime) -> bool:
    return rhythm.passed(now) >= _HIATUS_AFTER if rhythm.promised else cadence is Cadence.COLD


def _by_rhythm(
    rhythm: Rhythm, now: datetime, cadence: Cadence, intervals: Mapping[Cadence, timedelta], spread: float
) -> Plan:
    window = rhythm.window(now)
    dense = _dense_delay(rhythm, intervals[Cadence.HOT])
    jitter = 1 + 0.1 * spread
    if now >= window.start - dense:
        return Plan(
            cadence=Cadence.HOT, next_check_at=now + dense * jitter, reason=_expectation(rhythm, window)
        )
    if rhythm.promised and rhythm.passed(now):
        cadence = _cadence_when_late(rhythm, window, now, cadence)
        delay = intervals[cadence]
        reason = f"overdue by {_rounded(now - rhythm.first)}, {cadence} rate"
    else:
        delay = _quiet_delay(rhythm, window.start - now, intervals[cadence], intervals)
        reason = f"{_name(rhythm)}, nothing expected before {window.start.astimezone(UTC):%a %d %b %H:%M} UTC"
    # Series that come out together have the same window; their first looks are spread over one dense delay.
    at_window = window.start - dense * (1 + spread) / 2
    next_check_at = max(now + dense * 0.9, min(now + delay * jitter, at_window))
    return Plan(cadence=cadence, next_check_at=next_check_at, reason=reason)


def _dense_delay(rhythm: Rhythm, hot: timedelta) -> timedelta:
    """The delay between looks inside a window: the narrower the window, the shorter."""
    looks = _WINDOW_SHARE * (rhythm.period / hot)
    densest = min(hot, max(_DENSEST_SHARE_OF_HOT * hot, _SHORTEST_DELAY))
    return max(densest, min(_WIDEST_SHARE_OF_HOT * hot, 2 * rhythm.slack / looks))


def _quiet_delay(
    rhythm: Rhythm, until_window: timedelta, base: timedelta, intervals: Mapping[Cadence, timedelta]
) -> timedelta:
    hot, cold = intervals[Cadence.HOT], intervals[Cadence.COLD]
    longest = min(max(base, _QUIET_HOT_INTERVALS * hot), _QUIET_SHARE * rhythm.period, cold)
    if rhythm.promised:
        longest = min(longest, _APPROACH_SHARE * until_window)
    return max(hot, longest)


def _cadence_when_late(rhythm: Rhythm, window: Window, now: datetime, by_rule: Cadence) -> Cadence:
    since_last_window = now - (window.end - rhythm.period)
    return Cadence.HOT if since_last_window < _LATE_SHARE * rhythm.period else by_rule


def _expectation(rhythm: Rhythm, window: Window) -> str:
    expected = window.expected.astimezone(UTC)
    if not rhythm.promised:
        return f"usual hours, around {expected:%H:%M} UTC"
    return f"expected around {expected:%a %d %b %H:%M} UTC"


def _name(rhythm: Rhythm) -> str:
    days = rhythm.period / timedelta(days=1)
    if not rhythm.promised:
        return "irregular, at a usual hour"
    for usual, name in ((1, "daily"), (7, "weekly"), (14, "every two weeks"), (30.4, "monthly")):
        if abs(days / usual - 1) < 0.04:
            return name
    return f"every {_rounded(rhythm.period)}"


def _rounded(length: timedelta) -> str:
    seconds = length.total_seconds()
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
