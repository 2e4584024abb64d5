"""The next look at a series whose releases follow a rhythm, or do not (C2)."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cadence import by_learning, simulate
from bench.release_histories import HISTORIES, releases_of
from fascicle.domain.series.cadence import Cadence, Plan, cadence_of, plan_next_check

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WEEK = 7 * DAY
HOT, WARM, COLD = 15 * MINUTE, 4 * HOUR, 24 * HOUR
INTERVALS = {Cadence.HOT: HOT, Cadence.WARM: WARM, Cadence.COLD: COLD}
LAST = datetime(2026, 11, 10, 18, 5, tzinfo=UTC)
WEEKLY = [LAST - i * WEEK for i in range(12)]
# Two HOT intervals and the hour of summer time before the release that is expected.
OPENS = LAST + WEEK - 2 * HOT - HOUR

moments = st.datetimes(datetime(1970, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
spreads = st.floats(-1, 1)


def plan(
    now: datetime,
    releases: Sequence[datetime] = WEEKLY,
    *,
    last_new_at: datetime | None = LAST,
    pinned: Cadence | None = None,
    spread: float = 0,
) -> Plan:
    return plan_next_check(
        now=now,
        releases=releases,
        last_new_at=last_new_at,
        intervals=INTERVALS,
        pinned=pinned,
        spread=spread,
    )


def looks(releases: Sequence[datetime], start: datetime, seed: int = 0) -> Iterator[datetime]:
    """The times of the looks from `start` on, as long as nothing is found."""
    rng, now = random.Random(seed), start
    while True:
        yield now
        now = plan(now, releases, last_new_at=max(releases), spread=rng.uniform(-1, 1)).next_check_at


def delay_until_found(release: datetime, releases: Sequence[datetime], seed: int = 0) -> timedelta:
    return next(look for look in looks(releases, max(releases), seed) if look >= release) - release


@pytest.mark.parametrize(
    ("since_last", "cadence", "reason"),
    [
        (DAY, Cadence.HOT, "weekly, nothing expected before Tue 17 Nov 16:35 UTC"),
        (WEEK - HOUR, Cadence.HOT, "expected around Tue 17 Nov 18:05 UTC"),
        (WEEK + HOUR, Cadence.HOT, "expected around Tue 17 Nov 18:05 UTC"),
        (WEEK + 3 * HOUR, Cadence.HOT, "overdue by 3 h, HOT rate"),
        (WEEK + 3 * DAY, Cadence.WARM, "overdue by 3 d, WARM rate"),
        (2 * WEEK, Cadence.HOT, "expected around Tue 24 Nov 18:05 UTC"),
        (5 * WEEK, Cadence.COLD, "COLD"),
    ],
)
def test_c2_a_weekly_series_through_its_week_and_into_a_hiatus(
    since_last: timedelta, cadence: Cadence, reason: str
) -> None:
    planned = plan(LAST + since_last)
    assert (planned.cadence, planned.reason) == (cadence, reason)


@pytest.mark.parametrize(
    ("period", "name"),
    [(DAY, "daily"), (2 * WEEK, "every two weeks"), (30 * DAY, "monthly"), (10 * DAY, "every 10 d"),
     (6 * HOUR, "every 6 h")],
)  # fmt: skip
def test_c2_the_reason_names_the_period(period: timedelta, name: str) -> None:
    releases = [LAST - i * period for i in range(6)]
    assert plan(LAST, releases).reason.startswith(f"{name}, nothing expected before ")


@pytest.mark.parametrize(
    ("since_last", "shortest", "longest"),
    [
        (DAY, 2 * HOT, 16 * HOT),
        (WEEK - HOUR, HOT / 3, HOT),
        (WEEK + HOUR, HOT / 3, HOT),
        (WEEK + 3 * HOUR, HOT, HOT),
        (WEEK + 3 * DAY, WARM, WARM),
        (5 * WEEK, COLD, COLD),
    ],
)
@pytest.mark.parametrize("spread", [-1, -0.3, 0, 1])
def test_c2_dense_in_the_window_rare_before_it_base_rate_after_a_miss(
    since_last: timedelta, shortest: timedelta, longest: timedelta, spread: float
) -> None:
    now = LAST + since_last
    delay = plan(now, spread=spread).next_check_at - now
    assert 0.9 * shortest <= delay <= 1.1 * longest


def test_c2_jitter_does_not_jump_over_the_start_of_a_window() -> None:
    for minutes in range(10, 600, 7):
        for spread in (-1, 0, 1):
            now = OPENS - minutes * MINUTE
            assert now < plan(now, spread=spread).next_check_at <= OPENS


def test_c2_series_of_one_timetable_do_not_wake_together() -> None:
    now = OPENS - 12 * MINUTE
    assert len({plan(now, spread=i / 10).next_check_at for i in range(-10, 11)}) == 21


@pytest.mark.parametrize("pinned", list(Cadence))
@pytest.mark.parametrize("since_last", [DAY, WEEK, WEEK + 3 * HOUR, 9 * WEEK])
def test_c2_a_pin_overrides_what_was_learned(pinned: Cadence, since_last: timedelta) -> None:
    now = LAST + since_last
    assert plan(now, pinned=pinned) == Plan(
        cadence=pinned, next_check_at=now + INTERVALS[pinned], reason=f"{pinned}, pinned"
    )


@pytest.mark.parametrize(
    "releases",
    [
        pytest.param([], id="none"),
        pytest.param(WEEKLY[:4], id="few"),
        pytest.param([LAST] * 300, id="a backfill with one date"),
        pytest.param([LAST + i * MINUTE for i in range(-300, 0)], id="a backfill in one go"),
        pytest.param([LAST + i * WEEK for i in range(1, 12)], id="only future dates"),
        pytest.param([datetime(1970, 1, 1, tzinfo=UTC), *WEEKLY[:4]], id="few and 1970"),
        pytest.param([LAST - n * DAY for n in (0, 3, 13, 14.2, 30, 35.6, 37, 60, 61.7)], id="irregular"),
        pytest.param([LAST - i * HOUR for i in range(20)], id="too fast to be worth it"),
    ],
)
def test_c2_without_a_rhythm_the_plain_rule_holds(releases: list[datetime]) -> None:
    for quiet in (HOUR, 8 * DAY, 31 * DAY):
        now = LAST + quiet
        cadence = cadence_of(last_new_at=LAST, now=now)
        assert plan(now, releases) == Plan(
            cadence=cadence, next_check_at=now + INTERVALS[cadence], reason=cadence
        )


def test_c2_a_source_not_synced_yet_is_hot() -> None:
    now = LAST + DAY
    expected = Plan(cadence=Cadence.HOT, next_check_at=now + HOT, reason="HOT")
    assert plan(now, last_new_at=None) == expected


@pytest.mark.parametrize(
    "releases",
    [
        pytest.param(random.Random(1).sample(WEEKLY, len(WEEKLY)), id="in any order"),
        pytest.param([*WEEKLY, *WEEKLY], id="twice"),
        pytest.param([datetime(1970, 1, 1, tzinfo=UTC), *WEEKLY], id="one of 1970"),
        pytest.param([*WEEKLY, LAST + 2 * WEEK, LAST + 4000 * DAY], id="with future dates"),
        pytest.param([r + i * 80 * MINUTE for r in WEEKLY for i in range(4)], id="in bursts"),
        pytest.param([*WEEKLY, *(WEEKLY[-1] - 90 * DAY - i * WEEK for i in range(5))], id="after a hiatus"),
        pytest.param([*WEEKLY[:3], WEEKLY[3] + 2 * DAY, *WEEKLY[4:]], id="once late"),
        pytest.param([*WEEKLY[:3], *WEEKLY[4:]], id="once skipped"),
        pytest.param([LAST + DAY, *WEEKLY[1:]], id="the last one late"),
        pytest.param([LAST + 4 * DAY, *WEEKLY], id="an extra chapter since"),
    ],
)
def test_c2_a_rhythm_is_seen_through_noise(releases: list[datetime]) -> None:
    assert plan(LAST + WEEK, releases).reason == "expected around Tue 17 Nov 18:05 UTC"


def test_c2_who_counts_from_the_last_release_has_no_timetable_to_return_to() -> None:
    rng, releases = random.Random(3), [LAST]
    for _ in range(12):
        releases.append(releases[-1] - WEEK - rng.uniform(-10, 10) * HOUR)
    assert "Tue 17 Nov" in plan(LAST + WEEK, releases).reason


def test_c2_releases_on_any_day_at_one_hour_are_looked_for_at_that_hour() -> None:
    releases = [LAST - n * DAY for n in (0, 3, 5, 13, 14, 20, 31, 33, 34, 45)]
    inside, outside = plan(LAST + 2 * DAY, releases), plan(LAST + 2.5 * DAY, releases)
    assert inside.reason == "usual hours, around 18:05 UTC"
    assert inside.next_check_at <= LAST + 2 * DAY + HOT
    assert outside.reason == "irregular, at a usual hour, nothing expected before Fri 13 Nov 16:50 UTC"
    assert HOT < outside.next_check_at - (LAST + 2.5 * DAY) <= 4 * HOUR


@pytest.mark.parametrize("shift", [-HOUR, HOUR])
@pytest.mark.parametrize("period", [DAY, WEEK, 2 * WEEK])
def test_c2_a_change_to_summer_time_stays_within_the_window(period: timedelta, shift: timedelta) -> None:
    releases = [LAST - i * period for i in range(12)]
    moved = LAST + period + shift
    assert plan(moved, releases).reason.startswith("expected around ")
    assert max(delay_until_found(moved, releases, seed) for seed in range(8)) <= HOT
    again = moved + period
    assert max(delay_until_found(again, [*releases, moved], seed) for seed in range(8)) <= HOT


@pytest.mark.parametrize(
    ("late", "longest"),
    [
        (-2 * DAY, 1.1 * 16 * HOT),
        (-5 * HOUR, 1.1 * 4 * HOT),
        (0 * DAY, HOT / 2),
        (5 * HOUR, 1.1 * HOT),
        (1.9 * DAY, 1.1 * HOT),
        (4 * DAY, 1.1 * WARM),
        (WEEK, HOT / 2),
        (4 * WEEK - 8 * DAY, 1.1 * WARM),
        (30 * DAY, 1.1 * COLD),
    ],
)
def test_c2_no_miss_is_slept_through(late: timedelta, longest: timedelta) -> None:
    for seed in range(6):
        assert delay_until_found(LAST + WEEK + late, WEEKLY, seed) <= longest


@given(period=st.floats(0.5, 45), passed=st.floats(0, 6), spread=spreads)
def test_c2_after_a_miss_never_slower_than_the_plain_rule(
    period: float, passed: float, spread: float
) -> None:
    releases = [LAST - i * period * DAY for i in range(10)]
    now = LAST + (1 + passed) * period * DAY
    by_rule = INTERVALS[cadence_of(last_new_at=LAST, now=now)]
    assert plan(now, releases, spread=spread).next_check_at - now <= by_rule * (1 + 0.1 * spread)


@given(st.lists(moments, max_size=40), moments, spreads)
def test_c2_whatever_the_dates_the_delay_is_within_bounds(
    releases: list[datetime], now: datetime, spread: float
) -> None:
    planned = plan(now, releases, last_new_at=max(releases, default=None), spread=spread)
    assert 0.9 * HOT / 3 <= planned.next_check_at - now <= 1.1 * COLD
    assert planned == plan(now, releases[::-1], last_new_at=max(releases, default=None), spread=spread)


@given(
    st.floats(0.2, 40),
    st.lists(st.tuples(st.integers(1, 5), st.floats(-0.2, 0.2)), max_size=25),
    st.floats(0, 3),
    spreads,
)
def test_c2_nearly_regular_dates_keep_the_bounds_too(
    period: float, gaps: list[tuple[int, float]], since: float, spread: float
) -> None:
    releases = [LAST]
    for steps, stray in gaps:
        releases.append(releases[-1] - (steps + stray) * period * DAY)
    now = LAST + since * period * DAY
    delay = plan(now, releases, spread=spread).next_check_at - now
    by_rule = INTERVALS[cadence_of(last_new_at=LAST, now=now)]
    assert 0.9 * HOT / 3 <= delay <= 1.1 * max(by_rule, 16 * HOT)


@given(scale=st.sampled_from([1 / 180, 1 / 7, 3]), since=st.floats(0, 4), spread=spreads)
def test_c2_the_learning_has_the_scale_of_the_intervals(scale: float, since: float, spread: float) -> None:
    """HOT may be seconds in a demo; below a day no length is absolute."""

    def delay(scale: float) -> float:
        period = 5 * HOUR * scale
        now = LAST + since * period
        planned = plan_next_check(
            now=now,
            releases=[LAST - i * period for i in range(10)],
            last_new_at=LAST,
            intervals={cadence: interval * scale for cadence, interval in INTERVALS.items()},
            pinned=None,
            spread=spread,
        )
        return (planned.next_check_at - now) / (HOT * scale)

    assert delay(scale) == pytest.approx(delay(1), abs=1e-3)


def test_c2_intervals_of_less_than_a_second_get_no_denser() -> None:
    planned = plan_next_check(
        now=LAST + WEEK,
        releases=WEEKLY,
        last_new_at=LAST,
        intervals=dict.fromkeys(Cadence, timedelta(seconds=0.5)),
        pinned=None,
        spread=0,
    )
    assert planned.next_check_at == LAST + WEEK + timedelta(seconds=0.5)


@pytest.mark.parametrize("history", ["weekly", "biweekly", "weekly bursts"])
def test_c2_as_prompt_as_a_15_minute_poll_for_a_quarter_of_its_requests(history: str) -> None:
    outcome = simulate(releases_of(HISTORIES[history], seed=7), by_learning, seed=7)
    assert outcome.delay(90) <= 15 * MINUTE
    assert outcome.requests <= 365 * DAY / (15 * MINUTE) / 4
