"""How far down a list of news a sweep reads, and what it remembers."""

from datetime import UTC, datetime, timedelta

from fascicle.domain.chapter import LatestEntry
from fascicle.domain.sweep import MOST_WAKES, SweepCursor, SweepReading, count_wakes

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
OVERLAP = timedelta(minutes=15)


def timed(*minutes_ago: int) -> list[LatestEntry]:
    return [LatestEntry("s", f"u{m}", NOW - timedelta(minutes=m)) for m in minutes_ago]


def timeless(*ids: str) -> list[LatestEntry]:
    return [LatestEntry("s", upload_id) for upload_id in ids]


def read(cursor: SweepCursor, *pages: list[LatestEntry]) -> SweepReading:
    reading = SweepReading(cursor, OVERLAP)
    for page in pages:
        reading.add(page)
        if reading.is_over:
            break
    return reading


def test_c16_the_first_sweep_reads_one_page_and_remembers_its_newest() -> None:
    reading = read(SweepCursor(), timed(1, 2, 3), timed(4, 5))
    assert (reading.pages, reading.has_gap) == (1, False)
    assert reading.next_cursor(NOW, {}).at == NOW - timedelta(minutes=1)


def test_c16_it_reads_on_until_a_page_ends_before_the_overlap() -> None:
    cursor = SweepCursor(at=NOW - timedelta(minutes=30))
    reading = read(cursor, timed(1, 20), timed(35, 44), timed(45, 46), timed(90))
    assert (reading.pages, reading.is_over) == (3, True)


def test_c16_a_list_that_ends_too_early_is_a_gap() -> None:
    cursor = SweepCursor(at=NOW - timedelta(days=1))
    assert read(cursor, timed(1, 2), timed(3, 4)).has_gap
    assert not read(cursor, timed(1, 2), timed(3, 24 * 60 + 20)).has_gap


def test_c16_a_time_in_the_future_does_not_move_the_cursor_ahead() -> None:
    assert read(SweepCursor(), timed(-600, 5)).next_cursor(NOW, {}).at == NOW


def test_c16_without_times_what_was_there_before_ends_it() -> None:
    first = read(SweepCursor(), timeless("c", "b", "a"))
    assert first.next_cursor(NOW, {}).seen == ["c", "b", "a"]
    second = read(first.next_cursor(NOW, {}), timeless("f", "e"), timeless("d", "c"), timeless("b", "a"))
    assert (second.pages, second.has_gap) == (2, False)
    assert second.next_cursor(NOW, {}).seen == ["f", "e", "d", "c", "b", "a"]


def test_c16_an_old_entry_put_to_the_top_again_does_not_end_it() -> None:
    cursor = SweepCursor(seen=["b", "a"])
    reading = read(cursor, timeless("a", "f", "e"), timeless("d", "c", "b"))
    assert (reading.pages, set(reading.entries)) == (2, {"a", "b", "c", "d", "e", "f"})


def test_c16_without_times_a_list_of_strangers_is_a_gap() -> None:
    assert read(SweepCursor(seen=["b", "a"]), timeless("z", "y")).has_gap


def test_c16_an_upload_that_is_never_found_stops_waking_its_source() -> None:
    cursor, woken = SweepCursor(at=NOW), []
    for _ in range(6):
        worth, wakes = count_wakes(cursor, ["lost"])
        woken.append(bool(worth))
        cursor = SweepCursor(at=NOW, wakes=wakes)
    assert woken == [True] * MOST_WAKES + [False] * 3
