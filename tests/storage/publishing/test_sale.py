"""The sale queue: one client an item, claims that run out, and a person for what never works (P7)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.errors import UsageError
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.publishing import sale as sales
from tests.drafts import add_account, add_sale

NOW = datetime(2026, 11, 16, 18, tzinfo=UTC)
LATER = NOW + timedelta(minutes=11)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    async with transaction(opened) as connection:
        await add_account(connection)
    yield opened
    await opened.dispose()


@pytest.fixture
async def connection(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    async with transaction(engine) as opened:
        yield opened


async def take(connection: AsyncConnection, now: datetime = NOW) -> sales.Claimed:
    item = await sales.take_next(connection, "shop", now, 600)
    assert item is not None
    return item


async def row(connection: AsyncConnection, sale_id: int) -> dict[str, Any]:
    rows = await connection.execute(text("select * from sale where id = :id"), {"id": sale_id})
    return dict(rows.mappings().one())


async def test_p7_an_item_is_there_once_its_post_is_published(connection: AsyncConnection) -> None:
    sale_id = await add_sale(connection, "moon", state="draft")
    assert await sales.take_next(connection, "shop", NOW, 600) is None
    await connection.execute(text("update post set state = 'published'"))
    item = await take(connection)
    assert (item.id, item.post_id, item.title) == (sale_id, "moon", "Moon")
    assert (item.urls, item.price) == (["https://art.test/moon"], {"points": 80})
    assert (item.attempts, item.claimed_until) == (1, NOW + timedelta(minutes=10))
    assert await sales.take_next(connection, "other", NOW, 600) is None
    assert await sales.complete(connection, item.id, item.claim, NOW) == "done"
    assert await sales.complete(connection, item.id, item.claim, NOW) == "done", "an answer may get lost"
    assert (await row(connection, sale_id))["settled_at"] == NOW
    assert await sales.take_next(connection, "shop", LATER, 600) is None


async def test_p7_a_claim_that_ran_out_is_good_until_somebody_else_has_it(
    connection: AsyncConnection,
) -> None:
    await add_sale(connection, "moon")
    await add_sale(connection, "sun")
    first, second = await take(connection), await take(connection)
    assert await sales.complete(connection, first.id, first.claim, LATER) == "done"
    again = await take(connection, LATER)
    assert (again.id, again.attempts) == (second.id, 2)
    for late in (sales.complete(connection, second.id, second.claim, LATER),
                 sales.fail(connection, second.id, second.claim, "x", retry=True, now=LATER)):  # fmt: skip
        with pytest.raises(sales.ClaimLost):
            await late
    assert await sales.complete(connection, again.id, again.claim, LATER) == "done"


async def test_p7_five_failures_are_for_a_person(connection: AsyncConnection) -> None:
    sale_id = await add_sale(connection, "moon")
    states = []
    for _ in range(5):
        item = await take(connection)
        states += [await sales.fail(connection, sale_id, item.claim, "shop is shut", retry=True, now=NOW)]
        repeated = await sales.fail(connection, sale_id, item.claim, "shop is shut", retry=True, now=NOW)
        assert repeated == states[-1]
    assert states == ["ready"] * 4 + ["failed"]
    assert await sales.take_next(connection, "shop", LATER, 600) is None
    assert (await row(connection, sale_id))["last_error"] == "shop is shut"
    await sales.retry(connection, sale_id)
    assert (await take(connection)).attempts == 1
    with pytest.raises(UsageError, match="only failed"):
        await sales.retry(connection, sale_id)


async def test_p7_clients_that_vanish_count_as_failures(connection: AsyncConnection) -> None:
    sale_id = await add_sale(connection, "moon")
    for hour in range(5):
        await take(connection, NOW + timedelta(hours=hour))
    assert await sales.take_next(connection, "shop", NOW + timedelta(hours=5), 600) is None
    shown = await row(connection, sale_id)
    assert (shown["state"], shown["last_error"]) == ("failed", "the claim ran out: shop")


async def test_p7_without_retry_an_item_fails_at_once(connection: AsyncConnection) -> None:
    sale_id = await add_sale(connection, "moon")
    item = await take(connection)
    assert await sales.fail(connection, sale_id, item.claim, "not allowed", retry=False, now=NOW) == "failed"


async def test_p7_one_that_fails_holds_up_nobody(connection: AsyncConnection) -> None:
    await add_sale(connection, "moon")
    await add_sale(connection, "sun")
    item = await take(connection)
    await sales.fail(connection, item.id, item.claim, "x", retry=True, now=NOW)
    assert [(await take(connection)).post_id, (await take(connection)).post_id] == ["sun", "moon"]


@pytest.mark.parametrize("end", ["state = 'cancelled'", "deleted_at = now()"])
async def test_p7_the_sale_of_a_cancelled_post_is_cancelled(connection: AsyncConnection, end: str) -> None:
    sale_id = await add_sale(connection, "moon", state="draft")
    await connection.execute(text(f"update post set {end}"))
    assert [shown["state"] for shown in await sales.listing(connection, state=None, limit=5)] == ["cancelled"]
    assert await sales.take_next(connection, "shop", NOW, 600) is None
    assert (await row(connection, sale_id))["state"] == "cancelled"


async def test_p7_two_clients_never_hold_the_same_item(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        for n in range(5):
            await add_sale(connection, f"p{n}")
    together = asyncio.Barrier(8)

    async def client(n: int) -> int | None:
        async with transaction(engine) as connection:
            await connection.execute(text("select 1"))
            await together.wait()
            item = await sales.take_next(connection, f"client{n}", NOW, 600)
            await asyncio.sleep(0.05)
            return None if item is None else item.id

    taken = [item for item in await asyncio.gather(*map(client, range(8))) if item is not None]
    assert len(taken) == len(set(taken)) == 5


async def test_x7_a_sale_that_is_not_there(connection: AsyncConnection) -> None:
    with pytest.raises(UsageError, match="no sale 7"):
        await sales.complete(connection, 7, "x", NOW)
