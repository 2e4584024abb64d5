"""Fics in the database: what a page changes, who is told when, who is where in the queue."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.fics.fic import Fic, FicKind, FicRef, JobState
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.fics import fic as fics
from fascicle.storage.fics import fic_job as jobs
from fascicle.storage.fics import fic_notice as notices
from fascicle.storage.fics.fic_view import listing, view
from fascicle.storage.notifications.channel import add_channel, set_purpose
from tests.vaults import a_vault

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FULL: dict[str, Any] = {
    "authors": ["Ann"],
    "fandoms": ["Bees"],
    "relationships": ["A/B"],
    "tags": ["slow"],
    "summary": "<p>Of bees.</p>",
    "words": 900,
    "chapters": 14,
    "chapters_total": 14,
    "published_on": NOW.date(),
}


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


def _ref(number: int, site: str = "ao3") -> FicRef:
    return FicRef(site=site, kind=FicKind.WORK, id=str(number), url=f"https://{site}.test/works/{number}")


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        pytest.param(FULL | {"relationships": [], "tags": []}, {"relationships": [], "tags": []}, id="tags"),
        pytest.param(FULL | {"summary": None}, {}, id="the-page-of-a-later-chapter"),
        pytest.param(
            FULL | {"chapters": 15, "chapters_total": None},
            {"chapters": 15, "chapters_total": None},
            id="it-goes-on",
        ),
        pytest.param(FULL | {"published_on": None, "words": None}, {}, id="what-a-list-does-not-tell"),
        pytest.param(FULL | {"fandoms": []}, {}, id="what-every-work-has"),
    ],
)
async def test_f9_what_an_author_took_away_goes_and_what_a_page_cannot_tell_stays(
    engine: AsyncEngine, told: dict[str, Any], changed: dict[str, Any]
) -> None:
    name: dict[str, Any] = {"site": "ao3", "id": "1", "url": _ref(1).url, "title": "Bees"}
    async with transaction(engine) as connection:
        await fics.keep_works(connection, [Fic(**name, **FULL)], NOW)
        await fics.keep_works(connection, [Fic(**name, **told)], NOW)
        assert await fics.work(connection, _ref(1).key) == Fic(**name, **FULL | changed)


@pytest.mark.parametrize(("left_ago", "due_in"), [(-2, 12), (1, 9), (60, 0), (None, 0)])
async def test_f4_who_left_the_counter_a_moment_ago_may_still_have_heard(
    engine: AsyncEngine, left_ago: int | None, due_in: int
) -> None:
    """The counter's wait begins when the workflow has answered, a little after the row's."""
    waits_until = None if left_ago is None else NOW - timedelta(seconds=left_ago)
    async with transaction(engine) as connection:
        await connection.execute(text("insert into app_user (id, name) values ('u1', 'mara')"))
        await add_channel(connection, a_vault(), "u1", "json://sink")
        await jobs.open_job(connection, _ref(1), NOW)
        await jobs.subscribe(connection, _ref(1).key, "u1", note=None, tags=(), waits_until=waits_until)
        await notices.notify(connection, _ref(1).key, 1, "done", title="t", body="b", now=NOW)
        due = await connection.scalar(text("select next_attempt_at from delivery"))
    assert due == NOW + timedelta(seconds=due_in)


async def test_f2_the_queue_in_its_order_with_the_positions_that_each_job_has(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        for number, site in enumerate(("ao3", "ao3", "ffn", "ao3", "ao3"), start=1):
            await jobs.open_job(connection, _ref(number, site), NOW + timedelta(seconds=number))
        await jobs.finish(connection, _ref(4).key, 1, JobState.DONE, now=NOW)
        await jobs.put_off(connection, _ref(1).key, 1, NOW + timedelta(hours=1), "later")
        listed = await listing(connection, {"": 1.0})
        single = [await view(connection, shown.key, {"": 1.0}) for shown in listed]
        waiting = await listing(connection, {"": 1.0}, site="ao3", states=[JobState.PENDING], limit=2)
    keys = [_ref(2).key, _ref(3, "ffn").key, _ref(5).key, _ref(1).key, _ref(4).key]
    assert [(shown.key, shown.position) for shown in listed] == list(
        zip(keys, [1, 1, 2, 3, None], strict=True)
    )
    assert [shown.position for shown in single if shown] == [1, 1, 2, 3, None]
    assert [shown.key for shown in waiting] == [_ref(2).key, _ref(5).key]


async def test_f2_only_those_who_asked_for_this_round_are_said_to_wait(engine: AsyncEngine) -> None:
    key = _ref(1).key
    async with transaction(engine) as connection:
        await jobs.open_job(connection, _ref(1), NOW)
        for user in ("u1", "u2"):
            await connection.execute(text("insert into app_user (id, name) values (:u, :u)"), {"u": user})
            await jobs.subscribe(connection, key, user, note=None, tags=(), waits_until=None)
        await jobs.finish(connection, key, 1, JobState.DONE, now=NOW)
        seen = [await view(connection, key, {})]
        await jobs.begin_round(connection, key, NOW)
        await jobs.subscribe(connection, key, "u2", note=None, tags=(), waits_until=None)
        seen.append(await view(connection, key, {}))
    assert [shown and shown.subscribers for shown in seen] == [2, 1]


async def test_f8_with_a_job_that_was_done_long_ago_goes_what_was_said_of_it(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await set_purpose(connection, a_vault(), "fics", "json://sink")
        for number in (1, 2):
            await jobs.open_job(connection, _ref(number), NOW)
            await notices.notify(connection, _ref(number).key, 1, "done", title="t", body="b", now=NOW)
        await jobs.finish(connection, _ref(1).key, 1, JobState.DONE, now=NOW)
        assert await jobs.forget_finished(connection, NOW + timedelta(days=1)) == 1
        left = await connection.execute(
            text("select d.job_key from delivery d join notice n on n.id = d.notice_id")
        )
        assert list(left.scalars()) == [_ref(2).key]


async def test_x2_each_page_of_a_long_series_has_all_its_attempts(engine: AsyncEngine) -> None:
    key = _ref(1).key
    async with transaction(engine) as connection:
        await jobs.open_job(connection, _ref(1), NOW)
        await jobs.begin(connection, key, 1, NOW)
        for page in range(2, 8):
            assert await jobs.count_attempt(connection, key, 1, code="transient", error="525") == 1
            assert await jobs.go_on(connection, key, 1, f"https://ao3.test/series/1?page={page}")
