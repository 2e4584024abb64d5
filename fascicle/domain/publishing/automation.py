"""When an automation fires (P7): its rule, and the windows that follow from it.

A window is one occasion to publish one draft. Its key is the same whenever it is computed, and the database
accepts each key once. Times of day are wall-clock times of the automation's zone. A time that daylight saving
skips is moved forward by the length of the gap; of a time that comes twice, the first counts; two times at
one instant are one window.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]

# Windows that are closer together than the runs would be fired several at a time.
LEAST_MINUTES = 5
RECENT = timedelta(minutes=15)
FIXED_TIME_GRACE = timedelta(hours=1)
_WEEK = timedelta(days=7)
_WEEKS_AHEAD = 60


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    days: Annotated[list[Day], Field(min_length=1)] | None = None
    """Local days of the week; None: all."""

    def allows(self, day: date) -> bool:
        return self.days is None or DAYS[day.weekday()] in self.days


class FixedTime(_Rule):
    kind: Literal["fixed_time"] = "fixed_time"
    times: Annotated[list[TimeOfDay], Field(min_length=1, max_length=48)]

    @field_validator("times")
    @classmethod
    def _apart(cls, times: list[str]) -> list[str]:
        ordered = sorted(set(times))
        minutes = [_minutes(one) for one in ordered]
        for earlier, later in pairwise(minutes):
            if later - earlier < LEAST_MINUTES:
                raise ValueError(f"times must be at least {LEAST_MINUTES} minutes apart")
        return ordered


class FixedInterval(_Rule):
    kind: Literal["fixed_interval"] = "fixed_interval"
    every_minutes: int = Field(ge=LEAST_MINUTES, le=4 * 7 * 24 * 60)


class DailyQuota(_Rule):
    """The span of the day is cut into `count` equal parts; a window opens at the beginning of each."""

    kind: Literal["daily_quota"] = "daily_quota"
    count: int = Field(ge=1, le=100)
    from_hour: int = Field(0, ge=0, le=23)
    to_hour: int = Field(24, ge=1, le=24)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.to_hour <= self.from_hour:
            raise ValueError("the hours must lie within one day, the first before the second")
        if self.part_minutes < LEAST_MINUTES:
            raise ValueError(f"that leaves less than {LEAST_MINUTES} minutes for each")
        return self

    @property
    def part_minutes(self) -> int:
        return (self.to_hour - self.from_hour) * 60 // self.count

    @property
    def minutes(self) -> list[int]:
        span = (self.to_hour - self.from_hour) * 60
        return [self.from_hour * 60 + place * span // self.count for place in range(self.count)]


Rule = Annotated[FixedTime | FixedInterval | DailyQuota, Field(discriminator="kind")]
_RULE: TypeAdapter[Rule] = TypeAdapter(Rule)


@dataclass(frozen=True)
class Window:
    key: str
    at: datetime
    """In UTC."""


def parse_rule(value: Any) -> Rule:
    """A rule from its JSON, or pydantic's ValidationError."""
    return _RULE.validate_python(value)


def recent_for(every: timedelta) -> timedelta:
    """How far back a window is new, not missed, with a run `every` so often: a run may be late."""
    return max(RECENT, 3 * every)


def due_windows(
    rule: Rule, zone: ZoneInfo, active_since: datetime, now: datetime, *, recent: timedelta = RECENT
) -> list[Window]:
    """The windows to fire now, unless they have fired already: those of the last minutes; if there are none,
    the latest one within the rule's grace, which was missed if nothing ran."""
    grace = max(recent, _grace(rule))
    windows = windows_between(rule, zone, active_since, now - grace, now)
    return [window for window in windows if window.at > now - recent] or windows[-1:]


def next_windows(
    rule: Rule, zone: ZoneInfo, active_since: datetime, after: datetime, count: int
) -> list[Window]:
    """The next windows, up to `count`; none if the rule's days never meet its interval."""
    found: list[Window] = []
    for week in range(_WEEKS_AHEAD):
        start = after + week * _WEEK
        found += windows_between(rule, zone, active_since, start, start + _WEEK)
        if len(found) >= count:
            break
    return found[:count]


def windows_between(
    rule: Rule, zone: ZoneInfo, active_since: datetime, start: datetime, end: datetime
) -> list[Window]:
    """The windows after `start` up to and including `end`, in order; none from before it was active."""
    candidates = (
        _every(rule, zone, active_since, start, end)
        if isinstance(rule, FixedInterval)
        else _by_the_clock(rule, zone, start, end)
    )
    by_instant = {window.at: window for window in candidates}
    return [
        by_instant[instant]
        for instant in sorted(by_instant)
        if active_since <= instant and start < instant <= end
    ]


def _every(
    rule: FixedInterval, zone: ZoneInfo, active_since: datetime, start: datetime, end: datetime
) -> Iterator[Window]:
    """The key is the instant: a number would be taken already after the automation is enabled again."""
    anchor = active_since.astimezone(UTC).replace(microsecond=0)
    every = timedelta(minutes=rule.every_minutes)
    for number in range(max(1, (start - anchor) // every), (end - anchor) // every + 1):
        instant = anchor + number * every
        if rule.allows(instant.astimezone(zone).date()):
            yield Window(f"interval:{instant:%Y-%m-%dT%H:%M:%SZ}", instant)


def _by_the_clock(
    rule: FixedTime | DailyQuota, zone: ZoneInfo, start: datetime, end: datetime
) -> Iterator[Window]:
    day, last = start.astimezone(zone).date() - timedelta(days=1), end.astimezone(zone).date()
    while day <= last:
        if rule.allows(day):
            yield from _of_day(rule, zone, day)
        day += timedelta(days=1)


def _of_day(rule: FixedTime | DailyQuota, zone: ZoneInfo, day: date) -> Iterator[Window]:
    if isinstance(rule, FixedTime):
        for one in rule.times:
            yield Window(f"{day}T{one} {zone.key}", _instant(day, _minutes(one), zone))
    else:
        for place, minutes in enumerate(rule.minutes, start=1):
            yield Window(f"{day}#{place}", _instant(day, minutes, zone))


def _instant(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    """fold=0: the first of two equal times; for a skipped time, the offset from before the change."""
    return datetime.combine(day, time(*divmod(minutes, 60)), zone).astimezone(UTC)


def _grace(rule: Rule) -> timedelta:
    """How long after its time a missed window is still fired."""
    if isinstance(rule, FixedInterval):
        return timedelta(minutes=rule.every_minutes)
    if isinstance(rule, DailyQuota):
        return timedelta(minutes=rule.part_minutes)
    return FIXED_TIME_GRACE


def _minutes(time_of_day: str) -> int:
    return int(time_of_day[:2]) * 60 + int(time_of_day[3:])


def in_words(rule: Rule) -> str:
    days = "every day" if rule.days is None else _listed([day for day in DAYS if day in rule.days])
    if isinstance(rule, FixedTime):
        return f"at {_listed(rule.times)}, {days}"
    if isinstance(rule, FixedInterval):
        return f"every {rule.every_minutes} minutes, {days}"
    return f"{rule.count} a day between {rule.from_hour}:00 and {rule.to_hour}:00, {days}"


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
