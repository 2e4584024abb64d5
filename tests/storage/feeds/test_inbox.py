"""Inboxes, lists of feeds and runs, as the database has them (I6, I7)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.errors import ErrorRecord
from fascicle.domain.feeds.feed import ItemState, SubscriptionState
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import feed_list, inbox
from fascicle.storage.feeds import run as runs
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.storage.feeds.run import Run
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import library
from fascicle.storage.series import source as sources

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
A, B = "https://a.test/feed", "https://b.test/feed"
JOB = "a:k"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


async def follow(connection: AsyncConnection, user: str, *addresses: str) -> tuple[str, list[str]]:
    """A person who follows these feeds; their id and the feeds'."""
    user_id, _ = await library.add_user(connection, user)
    added = await feed_list.add_many(connection, [(address, address[8:9]) for address in addresses])
    ids = [added[address][0] for address in addresses]
    await subscriptions.add_many(connection, user_id, [(source_id, None, None) for source_id in ids])
    return user_id, ids


async def item(connection: AsyncConnection, title: str, source_id: str, **dates: datetime) -> int:
    """An item that a feed lists."""
    item_id: int = await connection.scalar(
        text("""insert into item (title, source_id, published_at, first_seen_at, updated_at)
                values (:title, :source_id, :published_at, :now, :now) returning id"""),
        {"title": title, "source_id": source_id, "published_at": None, "now": NOW, **dates},
    )
    await see(connection, source_id, item_id)
    return item_id


async def see(connection: AsyncConnection, source_id: str, item_id: int) -> None:
    await connection.execute(
        text("""insert into feed_item (source_id, item_key, item_id, title_key, content_hash, first_seen_at,
                  last_seen_at) values (:source_id, :key, :id, '', '', :now, :now)"""),
        {"source_id": source_id, "key": f"key {item_id}", "id": item_id, "now": NOW},
    )


async def deliver(
    connection: AsyncConnection, user_id: str, source_id: str, *items: int, at: datetime
) -> None:
    await connection.execute(
        text("""insert into inbox_item (user_id, item_id, source_id, arrived_at)
                select :user_id, unnest(cast(:items as bigint[])), :source_id, :at"""),
        {"user_id": user_id, "source_id": source_id, "items": list(items), "at": at},
    )


async def bury(
    connection: AsyncConnection, kind: str, *, job_input: dict[str, Any], at: datetime = NOW
) -> int:
    error = ErrorRecord(error_type="X", error_code="bad_entry", message="no", retryable=False)
    return await dead_letter.bury(
        connection,
        kind=kind,
        job_key=JOB,
        workflow_id="w",
        job_input=job_input,
        error=error,
        attempts=1,
        now=at,
    )


async def titles(connection: AsyncConnection, user_id: str, **options: Any) -> list[str]:
    options = {"state": ItemState.INBOX, "limit": 10, **options}
    return [row["title"] for row in await inbox.listing(connection, user_id, **options)]


async def test_i7_an_inbox_is_newest_first_by_state_and_by_feed(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a, b) = await follow(connection, "ann", A, B)
        old = await item(connection, "old", a, published_at=NOW)
        earlier = await item(connection, "earlier", b, published_at=NOW - timedelta(days=2))
        later = await item(connection, "later", b, published_at=NOW - timedelta(days=1))
        await see(connection, a, later)
        await deliver(connection, ann, a, old, at=NOW)
        await deliver(connection, ann, b, earlier, later, at=NOW + timedelta(hours=1))
        assert await titles(connection, ann) == ["later", "earlier", "old"]
        assert await titles(connection, ann, limit=1) == ["later"]
        assert await titles(connection, ann, source_id=a) == ["later", "old"], "it has it, too"
        assert await inbox.set_state(connection, ann, [old, later], ItemState.ARCHIVED) == {old, later}
        assert await titles(connection, ann) == ["earlier"]
        assert await titles(connection, ann, state=ItemState.ARCHIVED) == ["later", "old"]
        assert await titles(connection, ann, state=None) == ["later", "earlier", "old"]


async def test_i7_what_arrived_together_is_cut_by_its_dates_not_by_chance(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a,) = await follow(connection, "ann", A)
        ids = [
            await item(connection, f"{day} days old", a, published_at=NOW - timedelta(days=day))
            for day in (3, 1, 4, 2)
        ]
        await deliver(connection, ann, a, *ids, at=NOW)
        await inbox.set_state(connection, ann, ids[1:2], ItemState.ARCHIVED)
        assert await titles(connection, ann, limit=2) == ["2 days old", "3 days old"]
        assert await titles(connection, ann, state=None, limit=2) == ["1 days old", "2 days old"]


async def test_i7_subscriptions_are_listed_with_what_they_brought(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a, b) = await follow(connection, "ann", A, B)
        ben, _ = await follow(connection, "ben", A)
        one, other = await item(connection, "one", a), await item(connection, "other", a)
        await deliver(connection, ann, a, one, other, at=NOW)
        await deliver(connection, ben, a, one, at=NOW)
        await inbox.set_state(connection, ann, [one], ItemState.ARCHIVED)

        async def counts(*only: str | None) -> list[tuple[Any, ...]]:
            rows = await subscriptions.listing(connection, *only)
            return [(row["user"], row["id"], row["items"], row["inbox"]) for row in rows]

        assert await counts() == [("ann", a, 2, 1), ("ann", b, 0, 0), ("ben", a, 2, 1)]
        assert await counts(ann) == [("ann", a, 2, 1), ("ann", b, 0, 0)]
        assert await counts(ann, b) == [("ann", b, 0, 0)]
        await subscriptions.set_state(connection, ann, a, SubscriptionState.UNSUBSCRIBED)
        assert await counts() == [("ann", b, 0, 0), ("ben", a, 2, 1)]
        named = [(row["id"], row["title"], row["url"]) for row in await subscriptions.names(connection)]
        assert named == [(b, "b", B), (a, "a", A)]
        assert [row["id"] for row in await subscriptions.names(connection, ann)] == [b]


@pytest.mark.parametrize(
    ("kind", "state", "left"),
    [("item", "discarded", 1), ("ingest", "discarded", 1), ("item", "resolved", 0), ("poll", "discarded", 0)],
)
async def test_i6_a_letter_that_keeps_polls_off_its_job_is_not_forgotten(
    engine: AsyncEngine, kind: str, state: str, left: int
) -> None:
    async with transaction(engine) as connection:
        letter = await bury(connection, kind, job_input={})
        await dead_letter.settle(connection, letter, state, NOW)
        await dead_letter.forget(connection, before=NOW + timedelta(days=1))
        assert len(await dead_letter.listing(connection, state=None, limit=9)) == left
        assert len(await dead_letter.settled_jobs(connection, kind, [JOB])) == left


async def test_i7_a_state_is_one_persons(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a,) = await follow(connection, "ann", A)
        ben, _ = await follow(connection, "ben", A)
        one, other = await item(connection, "one", a), await item(connection, "other", a)
        await deliver(connection, ann, a, one, at=NOW)
        await deliver(connection, ben, a, one, other, at=NOW)
        assert await inbox.set_state(connection, ann, [one, other, 99], ItemState.BOOKMARKED) == {one}
        assert await inbox.known(connection, [one, other, 99]) == {one, other}
        assert await titles(connection, ben) == ["other", "one"]
        theirs, others = await inbox.item(connection, one, ann), await inbox.item(connection, one)
        assert theirs is not None
        assert others is not None
        assert (theirs["state"], others["state"]) == ("BOOKMARKED", None)
        assert [(place["feed"], place["key"]) for place in theirs["seen"]] == [("a", f"key {one}")]
        assert await inbox.item(connection, 99, ann) is None


async def test_i7_the_same_state_again_leaves_its_time(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a,) = await follow(connection, "ann", A)
        one = await item(connection, "one", a)
        await deliver(connection, ann, a, one, at=NOW)
        await inbox.set_state(connection, ann, [one], ItemState.ARCHIVED)
        await connection.execute(text("update inbox_item set state_at = :at"), {"at": NOW})
        await inbox.set_state(connection, ann, [one], ItemState.ARCHIVED)
        found = await inbox.item(connection, one, ann)
    assert found is not None
    assert found["state_at"] == NOW


async def test_i7_a_list_of_feeds_adds_what_is_missing_and_revives_what_was_removed(
    engine: AsyncEngine,
) -> None:
    async with transaction(engine) as connection:
        gone, _ = await feeds.add(connection, A, title="A", page=None)
        moved, _ = await feeds.add(connection, "https://old.test/", title="Moved", page=None)
        await connection.execute(
            text("update feed set url = :b where source_id = :id"), {"b": B, "id": moved}
        )
        await connection.execute(
            text("update feed set etag = 'x', document_hash = 'y' where source_id = :id"), {"id": gone}
        )
        await sources.remove(connection, gone, NOW)
        added = await feed_list.add_many(connection, [(A, "A"), (B, "B"), ("https://c.test/", "C"), (A, "A")])
        assert added[A] == (gone, True)
        assert added[B] == (moved, False), "known by where it is fetched"
        assert added["https://c.test/"][1]
        revived = await feeds.get(connection, gone)
        assert revived is not None
        assert (revived.etag, revived.document_hash, revived.first) == (None, None, True)
        again = await feed_list.add_many(connection, [(address, "") for address in added])
    assert again == {address: (source_id, False) for address, (source_id, _) in added.items()}


async def test_i7_who_reads_a_feed_is_known_for_many_at_once(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        ann, (a, b) = await follow(connection, "ann", A, B)
        await subscriptions.set_state(connection, ann, b, SubscriptionState.PAUSED)
        assert await subscriptions.unread(connection, [a, b]) == {b}
        looks = await feed_list.first_looks(connection, [a, b])
        assert [(look["url"], look["checked"], look["wanted"]) for look in looks] == [
            (A, False, True),
            (B, False, False),
        ]
        await sources.remove(connection, b, NOW)
        assert [look["id"] for look in await feed_list.first_looks(connection, [a, b])] == [a]
        assert [row["removed_at"] for row in await feed_list.listing(connection)] == [None, NOW]


async def test_i6_runs_are_listed_newest_first_with_what_they_left_undone(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        _, (a, b) = await follow(connection, "ann", A, B)
        ids = [
            await runs.record(connection, run)
            for run in (
                Run(a, "first", NOW, NOW, document=b"<rss/>"),
                Run(a, "new", NOW + timedelta(hours=1), NOW, new=2, failed=1),
                Run(b, "failed", NOW, NOW, error_code="not_found", error="gone"),
                Run(a, "idle", NOW + timedelta(hours=2), NOW, replay_of=1),
            )
        ]
        letter = await bury(connection, "item", job_input={"source_id": a}, at=NOW + timedelta(hours=1))
        listed = await runs.listing(connection, limit=10)
        assert [row["id"] for row in listed] == ids[::-1]
        assert [row["document_kept"] for row in listed] == [False, False, False, True]
        assert [r["id"] for r in await runs.listing(connection, source_id=a, limit=2)] == [ids[3], ids[1]]
        assert [r["id"] for r in await runs.listing(connection, failed=True, limit=9)] == [ids[2], ids[1]]
        shown = [await runs.get(connection, run_id) for run_id in ids]
        assert [[found["id"] for found in row["letters"]] for row in shown if row] == [[], [letter], [], []]
        assert await runs.get(connection, 99) is None
        replayed = await runs.latest_replay(connection, 1, after=ids[2])
        assert replayed is not None
        assert replayed["id"] == ids[3] == await runs.newest_id(connection)
        assert await runs.latest_replay(connection, 1, after=ids[3]) is None
