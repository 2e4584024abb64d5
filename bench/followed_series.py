"""Made-up series as people follow them: few have weekly releases, most have hardly any or have ended.

Ages and times are in true days, counted from the beginning of the measured day.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

# One chapter per series in 50 days: 200 a day for 10,000 series. Other rates scale the living kinds' shares.
_USUAL_RELEASES_PER_SERIES = 0.02
_MINUTE = 1 / 1440


@dataclass(frozen=True)
class Kind:
    name: str
    share: float
    """The share of all followed series at the usual rate of releases."""
    days: float
    """The average number of days from one release to the next."""
    regular: bool
    chapters: int


LIVING = (
    Kind("weekly", 0.06, 7, regular=True, chapters=12),
    Kind("every two weeks", 0.03, 14, regular=True, chapters=10),
    Kind("monthly", 0.12, 30, regular=True, chapters=8),
    Kind("now and then", 0.32, 60, regular=False, chapters=7),
)
_ENDED = Kind("ended", 0, 10, regular=False, chapters=5)


@dataclass(frozen=True)
class FollowedSeries:
    site_key: str
    title: str
    kind: str
    published: list[float]
    """The days of its chapters' releases, oldest first, all below 0."""
    release: float | None
    """The time of a chapter's release within the day, from 0 to 1; None: no release."""
    head_start: float
    """The share of the time to its first look that is over when the day begins, from 0 to 1."""


def make_followed_series(count: int, releases: int, seed: int = 0) -> list[FollowedSeries]:
    """Series with exactly so many releases in the day; the number of living series follows from that."""
    rng = random.Random(seed)
    stretch = releases / count / _USUAL_RELEASES_PER_SERIES
    sizes = [round(kind.share * stretch * count) for kind in LIVING]
    if sum(sizes) > count:
        raise ValueError(f"{count} series do not bring {releases} chapters a day: at most one in 26 does")
    living = [one for kind, size in zip(LIVING, sizes, strict=True) for one in _of_kind(kind, size, rng)]
    ended = [_ended(rng) for _ in range(count - len(living))]
    followed = _with_exactly(releases, living + ended, rng)
    rng.shuffle(followed)
    return followed


def _of_kind(kind: Kind, size: int, rng: random.Random) -> Iterator[FollowedSeries]:
    for number in range(size):
        if not kind.regular:
            yield _series(kind, _irregular_ages(kind, rng.expovariate(1 / kind.days), rng), None, rng)
            continue
        # Evenly spread over the period, so that this day has as many releases as any other.
        next_release = kind.days * (number + rng.random()) / size
        ages = [kind.days * n - next_release for n in range(1, kind.chapters + 1)]
        today = next_release if next_release < 1 else None
        yield _series(kind, [_about(age, rng) for age in ages], today, rng)


def _ended(rng: random.Random) -> FollowedSeries:
    return _series(_ENDED, _irregular_ages(_ENDED, rng.uniform(60, 1000), rng), None, rng)


def _series(kind: Kind, ages: list[float], release: float | None, rng: random.Random) -> FollowedSeries:
    key = str(UUID(int=rng.getrandbits(128), version=4))
    published = sorted(-max(age, _MINUTE) for age in ages)
    return FollowedSeries(key, f"Series {key[:8]}", kind.name, published, release, rng.random())


def _irregular_ages(kind: Kind, last: float, rng: random.Random) -> list[float]:
    ages = [last]
    while len(ages) < kind.chapters:
        ages.append(ages[-1] + rng.expovariate(1 / kind.days))
    return ages


def _about(age: float, rng: random.Random) -> float:
    return age + rng.gauss(0, 5) * _MINUTE


def _with_exactly(releases: int, followed: list[FollowedSeries], rng: random.Random) -> list[FollowedSeries]:
    """Fill up to exactly so many releases with irregular series, at random times of the day."""
    due = [one for one in followed if one.release is not None][:releases]
    irregular = [one for one in followed if one.kind == LIVING[-1].name]
    surprises = {one.site_key: rng.random() for one in rng.sample(irregular, releases - len(due))}
    kept = {one.site_key for one in due}
    return [_released(one, kept, surprises) for one in followed]


def _released(one: FollowedSeries, kept: set[str], surprises: dict[str, float]) -> FollowedSeries:
    release = one.release if one.site_key in kept else surprises.get(one.site_key)
    return FollowedSeries(one.site_key, one.title, one.kind, one.published, release, one.head_start)
