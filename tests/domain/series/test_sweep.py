"""How far down a list of news a sweep reads, and what it remembers."""

from datetime import UTC, datetime, timedelta

from fascicle.domain.series.chapter import LatestEntry
from fascicle.domain.series.sweep import MOST_WAKES, SweepCursor, SweepProgress, count_wakes

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
OVERLAP = timedelta(minutes=15)


def timed(*minutes_ago: int) -> list[LatestEntry]:
    return [LatestEntry("s", f"u{m}", NOW - timedelta(minutes=m)) for m in minutes_ago]


def timeless(*ids: str) -> list[LatestEntry]:
    return [LatestEntry("s", upload_id) for upload_id in ids]


def read(cursor: SweepCursor, *pages: list[LatestEntry]) -> SweepProgress:
    progress = SweepProgress()
    for page in pages:
        progress.take(page, cursor, OVERLAP, is_last=page is pages[-1])
        if progress.reached:
            break
    return progress


def test_c16_the_first_sweep_reads_one_page_and_remembers_its_newest() -> None:
    reading = read(SweepCursor(), timed(1, 2, 3), timed(4, 5))
    assert (reading.pages, reading.reached) == (1, True)
    assert reading.next_cursor(SweepCursor(), NOW).at == NOW - timedelta(minutes=1)


def test_c16_it_reads_on_until_a_page_ends_before_the_overlap() -> None:
    cursor = SweepCursor(at=NOW - timedelta(minutes=30))
    reading = read(cursor, timed(1, 20), timed(35, 44), timed(45, 46), timed(90))
    assert (reading.pages, reading.reached) == (3, True)


def test_c16_a_list_that_ends_too_early_is_a_gap() -> None:
    cursor = SweepCursor(at=NOW - timedelta(days=1))
    assert not read(cursor, timed(1, 2), timed(3, 4)).reached
    assert read(cursor, timed(1, 2), timed(3, 24 * 60 + 20)).reached


def test_c16_a_short_list_of_recent_entries_is_no_gap() -> None:
    first = read(SweepCursor(), timed(5, 6)).next_cursor(SweepCursor(), NOW)
    assert read(first, timed(1, 5, 6)).reached


def test_c16_an_old_entry_on_top_of_a_list_that_ends_too_early_does_not_hide_the_gap() -> None:
    assert not read(SweepCursor(seen=["pinned", "a"]), timeless("pinned", "z", "y")).reached


def test_c16_a_time_in_the_future_does_not_move_the_cursor_ahead() -> None:
    assert read(SweepCursor(), timed(-600, 5)).next_cursor(SweepCursor(), NOW).at == NOW


def test_c16_without_times_what_was_there_before_ends_it() -> None:
    first = read(SweepCursor(), timeless("c", "b", "a")).next_cursor(SweepCursor(), NOW)
    assert first.seen == ["c", "b", "a"]
    second = read(first, timeless("f", "e"), timeless("d", "c"), timeless("b", "a"))
    assert (second.pages, second.reached) == (2, True)
    assert second.next_cursor(first, NOW).seen == ["f", "e", "d", "c", "b", "a"]


def test_c16_an_old_entry_put_to_the_top_again_does_not_end_it() -> None:
    cursor = SweepCursor(seen=["b", "a"])
    reading = read(cursor, timeless("a", "f", "e"), timeless("d", "c", "b"))
    assert (reading.pages, set(reading.seen)) == (2, {"a", "b", "c", "d", "e", "f"})


def test_c16_without_times_a_list_of_strangers_is_a_gap() -> None:
    assert not read(SweepCursor(seen=["b", "a"]), timeless("z", "y")).reached


def test_c16_an_upload_that_is_never_found_stops_waking_its_source() -> None:
    cursor, woken = SweepCursor(at=NOW), []
    for _ in range(6):
        worth, wakes = count_wakes(cursor, ["lost"])
        woken.append(bool(worth))
        cursor = SweepCursor(at=NOW, wakes=wakes)
    assert woken == [True] * MOST_WAKES + [False] * 3
