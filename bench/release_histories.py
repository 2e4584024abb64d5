"""Made-up release histories: each release is a list of its chapters' times, of which the first counts."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

# Half a year is known when the measured year begins, because a first sync stores existing chapters.
KNOWN_FROM = datetime(2025, 7, 1, tzinfo=UTC)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2027, 1, 1, tzinfo=UTC)

Release = list[datetime]
History = Callable[[random.Random], Iterator[Release]]

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def releases_of(history: History, seed: int) -> list[Release]:
    releases = []
    for release in history(random.Random(seed)):
        if release[0] >= END:
            break
        releases.append(release)
    return sorted(releases)


def weekly(rng: random.Random) -> Iterator[Release]:
    return _timetable(rng, every=7, noise=5 * _MINUTE)


def biweekly(rng: random.Random) -> Iterator[Release]:
    return _timetable(rng, every=14, noise=5 * _MINUTE)


def daily(rng: random.Random) -> Iterator[Release]:
    return _timetable(rng, every=1, noise=5 * _MINUTE)


def weekly_give_or_take_hours(rng: random.Random) -> Iterator[Release]:
    return _timetable(rng, every=7, noise=3 * _HOUR)


def weekly_with_skips(rng: random.Random) -> Iterator[Release]:
    return (release for release in _timetable(rng, every=7, noise=10 * _MINUTE) if rng.random() > 0.2)


def weekly_sometimes_late(rng: random.Random) -> Iterator[Release]:
    """One in six releases is late by up to three days, or early by up to one."""
    for [time] in _timetable(rng, every=7, noise=10 * _MINUTE):
        yield [time + rng.uniform(-1, 3) * _DAY] if rng.random() < 1 / 6 else [time]


def weekly_from_the_last(rng: random.Random) -> Iterator[Release]:
    """A group that takes about a week for each chapter, without a timetable."""
    time = _some_start(rng)
    while True:
        yield [time]
        time += 7 * _DAY + rng.gauss(0, 4) * _HOUR


def monthly(rng: random.Random) -> Iterator[Release]:
    """The same day of each month."""
    day, minute = rng.randint(1, 28), rng.randrange(1440)
    for month in count(KNOWN_FROM.month - 1):
        first = KNOWN_FROM.replace(year=KNOWN_FROM.year + month // 12, month=month % 12 + 1, day=day)
        yield [_local(first + minute * _MINUTE) + rng.gauss(0, 10) * _MINUTE]


def twice_a_week(rng: random.Random) -> Iterator[Release]:
    start = _some_start(rng)
    for week in count():
        for day in (0, 3):
            yield [_local(start + (7 * week + day) * _DAY) + rng.gauss(0, 10) * _MINUTE]


def any_day_at_an_hour(rng: random.Random) -> Iterator[Release]:
    start = _some_start(rng)
    for day in count():
        if rng.random() < 1 / 6:
            yield [_local(start + day * _DAY) + rng.gauss(0, 20) * _MINUTE]


def irregular(rng: random.Random) -> Iterator[Release]:
    """Poisson, one in eight days: past releases do not predict the next."""
    time = _some_start(rng)
    while True:
        yield [time]
        time += rng.expovariate(1 / 8) * _DAY


def weekly_bursts(rng: random.Random) -> Iterator[Release]:
    for [time] in _timetable(rng, every=7, noise=10 * _MINUTE):
        yield [time + i * rng.uniform(0, 90) * _MINUTE for i in range(rng.randint(1, 6))]


def hiatus_and_return(rng: random.Random) -> Iterator[Release]:
    """Weekly; then nothing for a hundred days from spring on, then weekly on another day."""
    gone, back = BEGIN + rng.uniform(60, 120) * _DAY, BEGIN + rng.uniform(200, 240) * _DAY
    for [time] in _timetable(rng, every=7, noise=10 * _MINUTE):
        if time >= gone:
            break
        yield [time]
    for week in count():
        yield [_local(back + 7 * week * _DAY) + rng.gauss(0, 10) * _MINUTE]


HISTORIES: dict[str, History] = {
    "weekly": weekly,
    "biweekly": biweekly,
    "monthly": monthly,
    "daily": daily,
    "weekly ± hours": weekly_give_or_take_hours,
    "weekly, counted from the last": weekly_from_the_last,
    "weekly, one in five skipped": weekly_with_skips,
    "weekly, one in six early or late": weekly_sometimes_late,
    "weekly bursts": weekly_bursts,
    "hiatus and return": hiatus_and_return,
    "twice a week": twice_a_week,
    "any day at one hour": any_day_at_an_hour,
    "irregular (Poisson)": irregular,
}


def _timetable(rng: random.Random, *, every: int, noise: timedelta) -> Iterator[Release]:
    start = _some_start(rng)
    return ([_local(start + i * every * _DAY) + rng.gauss(0, 1) * noise] for i in count())


def _some_start(rng: random.Random) -> datetime:
    return KNOWN_FROM + rng.uniform(0, 7) * _DAY


def _local(time: datetime) -> datetime:
    """Converts a wall-clock time with summer time to UTC."""
    return time - _HOUR if (3, 29) <= (time.month, time.day) < (10, 25) else time
