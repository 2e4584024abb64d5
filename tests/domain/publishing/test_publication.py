"""Posts: what may go out, when, and what comes next."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.publishing.post import check_post, check_size
from fascicle.domain.publishing.publication import (
    FileProgress,
    GalleryEntry,
    Step,
    attempt_delay,
    matching_entries,
    next_step,
)
from fascicle.domain.times import parse_time

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-12-24T18:00+01:00", None, "2026-12-24T17:00Z"),
        ("2026-12-24T18:00Z", None, "2026-12-24T18:00Z"),
        ("2026-12-24 18:00 Europe/Berlin", None, "2026-12-24T17:00Z"),
        ("2026-12-24 18:00 Europe/Berlin", "Asia/Tokyo", "2026-12-24T17:00Z"),
        ("2026-12-24 18:00", "Asia/Tokyo", "2026-12-24T09:00Z"),
        ("2026-12-24 18:00 UTC", None, "2026-12-24T18:00Z"),
        ("2027-03-28 02:30", "Europe/Berlin", "2027-03-28T01:30Z"),  # skipped by the clocks: an hour later
        ("2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30Z"),  # comes twice: the first
        ("+90m", None, "2026-11-16T13:30Z"),
        ("+2 d", None, "2026-11-18T12:00Z"),
        ("now", None, "2026-11-16T12:00Z"),
    ],
)
def test_p2_times_as_people_write_them(text: str, zone: str | None, expected: str) -> None:
    assert parse_time(text, zone=zone, now=NOW) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("text", "zone", "code"),
    [
        ("2026-12-24 18:00", None, "time_without_zone"),
        ("2026-12-24", None, "time_without_zone"),
        ("tomorrow", None, "wrong_time"),
        ("", None, "wrong_time"),
        ("18:00", "Europe/Berlin", "wrong_time"),
        ("2026-12-24 18:00 Europe/Atlantis", None, "wrong_time_zone"),
        ("2026-12-24 18:00 ../../etc/passwd", None, "wrong_time"),
        ("2026-02-30T18:00Z", None, "wrong_time"),
        ("0001-01-01T00:00+12:00", None, "wrong_time"),
        ("+999999d", None, "wrong_time"),
    ],
)
def test_x7_a_time_that_cannot_be_meant_says_how_to_write_it(text: str, zone: str | None, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_time(text, zone=zone, now=NOW)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("post", "word"),
    [
        ({"title": ""}, "title"),
        ({"title": "x" * 51}, "51"),
        ({"title": "x" * 10_000}, "10,000"),
        ({"title": "two\nlines"}, "line breaks"),
        ({"title": "a", "tags": ["t"] * 40}, "40 tags"),
        ({"title": "a", "tags": ["no spaces"]}, "letters"),
        ({"title": "a", "is_mature": True}, "level"),
        ({"title": "a", "mature_level": "mild"}, "mild"),
        ({"title": "a", "mature_classification": ["scary"]}, "scary"),
        ({"title": "a", "display_resolution": 9}, "0"),
        ({"title": "a", "description": "x" * 60_001}, "60,001"),
    ],
)
def test_x7_what_the_site_would_refuse_is_refused_before_it_is_uploaded(
    post: dict[str, Any], word: str
) -> None:
    with pytest.raises(UsageError, match=word):
        check_post(**post)


def test_p1_what_the_site_takes_is_taken() -> None:
    check_post(
        title="x" * 50,
        description="<b>ink</b>",
        tags=[f"tag_{n}" for n in range(30)],
        is_mature=True,
        mature_level="strict",
        mature_classification=["gore"],
        display_resolution=0,
    )


@pytest.mark.parametrize("size", [0, 31])
def test_x7_empty_and_too_large_files_are_refused(size: int) -> None:
    with pytest.raises(UsageError, match=r"ink\.png"):
        check_size("ink.png", size, largest=30)


def _file(n: int = 1, **known: Any) -> FileProgress:
    progress: dict[str, Any] = {
        "item_id": "7",
        "has_baseline": True,
        "intent_at": None,
        "published": False,
    }
    return FileProgress(id=n, **(progress | known))


@pytest.mark.parametrize(
    ("files", "checked", "expected"),
    [
        ([_file(item_id=None, has_baseline=False)], False, (Step.CHECK, None)),
        ([_file(item_id=None, has_baseline=False)], True, (Step.UPLOAD, 1)),
        ([_file(1), _file(2, item_id=None)], True, (Step.UPLOAD, 2)),  # all up before the first is out
        ([_file(has_baseline=False)], True, (Step.BASELINE, 1)),
        ([_file()], True, (Step.PUBLISH, 1)),
        ([_file(intent_at=NOW)], False, (Step.LOOK, 1)),  # an intent is looked for, whatever else
        ([_file(1, published=True), _file(2)], True, (Step.PUBLISH, 2)),
        ([_file(1, published=True), _file(2, intent_at=NOW)], True, (Step.LOOK, 2)),
        ([_file(1, published=True), _file(2, published=True)], False, (Step.OVER, None)),
    ],
)
def test_p3_the_row_says_what_comes_next(
    files: list[FileProgress], checked: bool, expected: tuple[Step, int | None]
) -> None:
    step, file = next_step(files, checked=checked)
    assert (step, file and file.id) == expected


def _entry(n: int, title: str = "Ink & Salt", minutes: float = 1) -> GalleryEntry:
    return GalleryEntry(deviation_id=f"d{n}", title=title, published_at=NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], []),
        ([_entry(1)], ["d1"]),
        ([_entry(1, "Ink &amp; Salt")], ["d1"]),
        ([_entry(1, "  ink  &  salt ")], ["d1"]),
        ([_entry(1, "Other")], []),
        ([_entry(9)], []),  # was there before
        ([_entry(1, minutes=-10)], []),  # older than the intent
        ([_entry(1, minutes=-2)], ["d1"]),  # clocks differ
        ([_entry(1), _entry(2)], ["d1", "d2"]),
    ],
)
def test_p3_a_publication_is_known_by_title_time_and_novelty(
    entries: list[GalleryEntry], expected: list[str]
) -> None:
    found = matching_entries(entries, title="Ink & Salt", intent_at=NOW, known={"d9"})
    assert [entry.deviation_id for entry in found] == expected


def test_p5_the_delays_double() -> None:
    assert [attempt_delay(n, 5) for n in range(1, 8)] == [5, 10, 20, 40, 80, 160, 320]
