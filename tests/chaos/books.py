"""What came of an experiment: chapters in the database, rows about them, messages that arrived."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.harness import Harness

Chapter = tuple[str, str]
"""A series' title and a number."""
Telling = tuple[str, str, str]
"""A follower, a series' title and a number."""

_CHAPTERS = """
select series.title, c.raw_number from logical_chapter c
join series on series.id = c.series_id join chapter_source s on s.chapter_id = c.id"""
_NOTIFICATIONS = """
select u.name, series.title, c.raw_number, d.state from notification n
join app_user u on u.id = n.user_id join logical_chapter c on c.id = n.chapter_id
join series on series.id = c.series_id left join delivery d on d.notification_id = n.id"""


@dataclass(frozen=True)
class Books:
    chapters: Counter[Chapter]
    notifications: Counter[Telling]
    states: dict[Telling, str]
    messages: Counter[Telling]


async def read_books(harness: Harness) -> Books:
    chapters = [(row["title"], row["raw_number"]) for row in await harness.rows(_CHAPTERS)]
    rows = await harness.rows(_NOTIFICATIONS)
    tellings = [(row["name"], row["title"], row["raw_number"]) for row in rows]
    return Books(
        chapters=Counter(chapters),
        notifications=Counter(tellings),
        states={telling: row["state"] for telling, row in zip(tellings, rows, strict=True)},
        messages=Counter(_messages(harness)),
    )


def _messages(harness: Harness) -> Iterator[Telling]:
    for message in harness.simulator.sink.messages():
        series, _, number = message.title.partition(": Chapter ")
        yield message.name, series, number


async def is_settled(harness: Harness, chapters: int, notifications: int) -> bool:
    """Whether that many are in and nobody is still to be told."""
    counts = await harness.rows(
        """select (select count(*) from logical_chapter) as chapters,
                  (select count(*) from notification) as notifications,
                  (select count(*) from logical_chapter where announce = 'owed') as owed,
                  (select count(*) from delivery where state in ('pending', 'sending')) as open"""
    )
    return list(counts[0].values()) == [chapters, notifications, 0, 0]


def assert_all_in_once(books: Books, expected: set[Chapter]) -> None:
    assert books.chapters == Counter(expected)


def assert_all_told_once(books: Books, expected: set[Telling], *, certain: bool) -> None:
    """A row each, a message each. Where not `certain`, one that was cut off while sending may be in doubt:
    then it is never sent again."""
    assert books.notifications == Counter(expected)
    assert set(books.messages) <= expected
    for telling in expected:
        state, count = books.states[telling], books.messages[telling]
        if state == "unconfirmed" and not certain:
            assert count in (0, 1), telling
        else:
            assert (state, count) == ("sent", 1), telling
