"""When automations fire (P7): windows by the clock of a place, through its changes of the clock."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fascicle.domain.errors import UsageError
from fascicle.domain.publishing.automation import (
    DAYS,
    DailyQuota,
    FixedInterval,
    FixedTime,
    Rule,
    Window,
    due_windows,
    in_words,
    next_windows,
    parse_rule,
    windows_between,
)
from fascicle.domain.times import zone_named

OLD = "2026-11-01T00:00"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local_times(rule: Rule, zone: str, start: str, hours: int = 24) -> list[str]:
    """The windows of the hours after `start` (UTC), as local times with their offsets."""
    begin = utc(start)
    windows = windows_between(rule, ZoneInfo(zone), LONG_AGO, begin, begin + timedelta(hours=hours))
    return [f"{window.at.astimezone(ZoneInfo(zone)):%m-%d %H:%M %z}" for window in windows]


@pytest.mark.parametrize(
    ("zone", "times", "start", "expected"),
    [
        ("Europe/Berlin", ["18:00"], "2026-11-16T00:00", ["11-16 18:00 +0100"]),
        ("Europe/Berlin", ["18:00"], "2026-07-16T00:00", ["07-16 18:00 +0200"]),
        # 02:30 does not exist: an hour later by the old clock, which is 03:30 by the new one.
        ("Europe/Berlin", ["02:30"], "2026-03-28T23:00", ["03-29 03:30 +0200"]),
        ("Europe/Berlin", ["02:30", "03:30"], "2026-03-28T23:00", ["03-29 03:30 +0200"]),
        ("Europe/Berlin", ["02:45", "03:15"], "2026-03-28T23:00", ["03-29 03:15 +0200", "03-29 03:45 +0200"]),
        # 02:30 comes twice: the first counts.
        ("Europe/Berlin", ["02:30"], "2026-10-24T22:00", ["10-25 02:30 +0200"]),
        ("America/New_York", ["02:30"], "2026-03-08T05:00", ["03-08 03:30 -0400"]),
        ("America/New_York", ["01:30"], "2026-11-01T04:00", ["11-01 01:30 -0400"]),
        # Half an hour of daylight saving.
        ("Australia/Lord_Howe", ["02:10"], "2026-10-03T12:00", ["10-04 02:40 +1100"]),
        ("Australia/Lord_Howe", ["01:45"], "2026-04-04T12:00", ["04-05 01:45 +1100"]),
        # The day begins at one o'clock.
        ("Africa/Cairo", ["00:00"], "2026-04-23T12:00", ["04-24 01:00 +0300"]),
        ("Asia/Kathmandu", ["00:00"], "2026-11-16T00:00", ["11-17 00:00 +0545"]),
        ("UTC", ["00:00", "23:59"], "2026-11-15T23:59", ["11-16 00:00 +0000", "11-16 23:59 +0000"]),
    ],
)
def test_p7_fixed_times_by_the_clock_of_the_place(
    zone: str, times: list[str], start: str, expected: list[str]
) -> None:
    assert local_times(FixedTime(times=times), zone, start) == expected


@pytest.mark.parametrize(
    ("rule", "zone", "start", "expected"),
    [
        (
            DailyQuota(count=3, from_hour=9, to_hour=21),
            "UTC",
            "2026-11-16T00:00",
            ["09:00", "13:00", "17:00"],
        ),
        (DailyQuota(count=2), "UTC", "2026-11-15T23:59", ["00:00", "12:00"]),
        (DailyQuota(count=1, from_hour=23), "UTC", "2026-11-16T00:00", ["23:00"]),
        (
            DailyQuota(count=4, from_hour=1, to_hour=5),
            "Europe/Berlin",
            "2026-03-28T23:00",
            ["01", "03", "04", "01"],
        ),
        (DailyQuota(count=1, days=["tue"]), "UTC", "2026-11-15T23:59", []),
    ],
)
def test_p7_a_quota_is_spread_evenly_over_its_hours(
    rule: DailyQuota, zone: str, start: str, expected: list[str]
) -> None:
    shown = [text.split()[1] for text in local_times(rule, zone, start)]
    assert [time[: len(want)] for time, want in zip(shown, expected, strict=True)] == expected


def test_p7_days_of_the_week_are_those_of_the_place() -> None:
    monday = FixedTime(times=["00:30"], days=["mon"])
    # 00:30 on Monday in Berlin is still Sunday in UTC.
    assert local_times(monday, "Europe/Berlin", "2026-11-15T12:00") == ["11-16 00:30 +0100"]
    sunday = FixedInterval(every_minutes=60, days=["sun"])
    assert len(local_times(sunday, "Europe/Berlin", "2026-11-14T22:59", hours=48)) == 24


@pytest.mark.parametrize(
    ("rule", "since", "now", "expected"),
    [
        (FixedTime(times=["18:00"]), OLD, "2026-11-16T17:59:59", []),
        (FixedTime(times=["18:00"]), OLD, "2026-11-16T18:00", ["2026-11-16T18:00 UTC"]),
        (FixedTime(times=["18:00"]), OLD, "2026-11-16T18:59", ["2026-11-16T18:00 UTC"]),
        (FixedTime(times=["18:00"]), OLD, "2026-11-16T19:00", []),
        # Enabled after the window, or exactly at it.
        (FixedTime(times=["18:00"]), "2026-11-16T18:01", "2026-11-16T18:05", []),
        (FixedTime(times=["18:00"]), "2026-11-16T18:00", "2026-11-16T18:05", ["2026-11-16T18:00 UTC"]),
        # Nothing ran for an hour: the latest only.
        (FixedTime(times=["18:00", "18:30"]), OLD, "2026-11-16T18:50", ["2026-11-16T18:30 UTC"]),
        (FixedInterval(every_minutes=90), "2026-11-16T12:00", "2026-11-16T13:29", []),
        (
            FixedInterval(every_minutes=90), "2026-11-16T12:00:00.7", "2026-11-16T16:29",
            ["interval:2026-11-16T15:00:00Z"],
        ),
        (DailyQuota(count=6, from_hour=0, to_hour=24), OLD, "2026-11-16T19:59", ["2026-11-16#5"]),
        # The last part of the day is over.
        (DailyQuota(count=2, from_hour=8, to_hour=12), OLD, "2026-11-16T12:00", []),
        (DailyQuota(count=2, from_hour=8, to_hour=12), OLD, "2026-11-16T11:59", ["2026-11-16#2"]),
        # Two that came between two runs are both due: neither is a window missed.
        (
            FixedTime(times=["18:00", "18:05"]), OLD, "2026-11-16T18:06",
            ["2026-11-16T18:00 UTC", "2026-11-16T18:05 UTC"],
        ),
    ],
)  # fmt: skip
def test_p7_what_is_due(rule: Rule, since: str, now: str, expected: list[str]) -> None:
    due = due_windows(rule, ZoneInfo("UTC"), utc(since), utc(now))
    assert [window.key for window in due] == expected


def test_p7_enabling_again_does_not_meet_the_windows_of_before() -> None:
    rule = FixedInterval(every_minutes=10)
    first = next_windows(rule, ZoneInfo("UTC"), utc("2026-11-16T12:00"), utc("2026-11-16T12:00"), 3)
    again = next_windows(rule, ZoneInfo("UTC"), utc("2026-11-16T12:07"), utc("2026-11-16T12:07"), 3)
    assert not {window.key for window in first} & {window.key for window in again}


def test_p7_the_windows_to_come() -> None:
    rule = FixedTime(times=["18:00"], days=["mon", "wed"])
    coming = next_windows(rule, ZoneInfo("Europe/Berlin"), LONG_AGO, utc("2026-11-16T17:00"), 3)
    assert [window.key[:10] for window in coming] == ["2026-11-18", "2026-11-23", "2026-11-25"]
    weekly = FixedInterval(every_minutes=7 * 24 * 60, days=["tue"])
    assert next_windows(weekly, ZoneInfo("UTC"), utc("2026-11-16T12:00"), utc("2026-11-16T12:00"), 5) == []


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (FixedTime(times=["18:00", "09:30"], days=["wed", "mon"]), "at 09:30, 18:00, mon, wed"),
        (FixedInterval(every_minutes=90), "every 90 minutes, every day"),
        (DailyQuota(count=3, from_hour=9, to_hour=22), "3 a day between 9:00 and 22:00, every day"),
    ],
)
def test_p7_a_rule_in_words_and_as_json(rule: Rule, words: str) -> None:
    assert in_words(rule) == words
    assert parse_rule(rule.model_dump(mode="json")) == rule


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kind": "sometimes"},
        {"kind": "fixed_time", "times": []},
        {"kind": "fixed_time", "times": ["24:00"]},
        {"kind": "fixed_time", "times": ["6pm"]},
        {"kind": "fixed_time", "times": ["18:00", "18:04"]},
        {"kind": "fixed_time", "times": ["18:00"], "days": []},
        {"kind": "fixed_time", "times": ["18:00"], "days": ["someday"]},
        {"kind": "fixed_interval", "every_minutes": 4},
        {"kind": "fixed_interval", "every_minutes": 60, "surprise": 1},
        {"kind": "daily_quota", "count": 0},
        {"kind": "daily_quota", "count": 5, "from_hour": 22, "to_hour": 2},
        {"kind": "daily_quota", "count": 13, "from_hour": 9, "to_hour": 10},
        None,
        "fixed_time",
    ],
)
def test_x7_a_rule_that_makes_no_sense_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        parse_rule(value)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "Europe", "../etc/passwd", "a\0b", "\udcff"])
def test_x7_a_zone_that_is_none_is_told(name: str) -> None:
    with pytest.raises(UsageError, match="no time zone"):
        zone_named(name)


ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Africa/Cairo",
]
days = st.none() | st.lists(st.sampled_from(DAYS), min_size=1, max_size=7, unique=True)
rules = st.one_of(
    st.builds(
        FixedTime,
        # Multiples of five minutes are as far apart as they must be.
        times=st.lists(
            st.integers(0, 287).map(lambda n: f"{n // 12:02}:{n % 12 * 5:02}"), min_size=1, max_size=8
        ),
        days=days,
    ),
    st.builds(FixedInterval, every_minutes=st.integers(5, 4000), days=days),
    st.builds(
        DailyQuota, count=st.integers(1, 20), from_hour=st.integers(0, 12), to_hour=st.integers(14, 24)
    ),
)
# Two days around every change of the clock, and any time of the year.
begins = st.sampled_from(
    [
        utc(day)
        for day in (
            "2026-03-08",
            "2026-03-28",
            "2026-04-04",
            "2026-04-23",
            "2026-10-03",
            "2026-10-24",
            "2026-11-01",
        )
    ]
) | st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)).map(lambda d: d.replace(tzinfo=UTC))  # noqa: DTZ001


def fired(rule: Rule, zone: ZoneInfo, since: datetime, runs: list[datetime]) -> list[Window]:
    """What a sequence of runs fires, the keys being taken once, as the database does it."""
    taken: dict[str, Window] = {}
    for now in runs:
        for window in due_windows(rule, zone, since, now):
            taken.setdefault(window.key, window)
    return list(taken.values())


@settings(max_examples=25, deadline=None)
@given(rules, st.sampled_from(ZONES), begins, st.floats(0, 300))
def test_p7_with_a_run_every_five_minutes_nothing_is_left_out(
    rule: Rule, zone: str, since: datetime, offset: float
) -> None:
    runs = [since + timedelta(seconds=offset + 300 * n) for n in range(2 * 288)]
    wanted = windows_between(rule, ZoneInfo(zone), since, since - timedelta(seconds=1), runs[-1])
    assert fired(rule, ZoneInfo(zone), since, runs) == wanted


@settings(max_examples=50, deadline=None)
@given(rules, st.sampled_from(ZONES), begins, st.lists(st.integers(1, 100_000), min_size=1, max_size=60))
def test_p7_at_any_cadence_no_window_fires_twice(
    rule: Rule, zone: str, since: datetime, gaps: list[int]
) -> None:
    runs = [since]
    for gap in gaps:
        runs.append(runs[-1] + timedelta(seconds=gap))
    got = fired(rule, ZoneInfo(zone), since, runs)
    assert len({window.at for window in got}) == len(got), "two keys for one instant"
    there = windows_between(rule, ZoneInfo(zone), since, since - timedelta(seconds=1), runs[-1])
    assert set(got) <= set(there), "a key depends on when it is reckoned"
    if isinstance(rule, DailyQuota):
        per_day = [window.key.partition("#")[0] for window in got]
        assert max((per_day.count(day) for day in per_day), default=0) <= rule.count
