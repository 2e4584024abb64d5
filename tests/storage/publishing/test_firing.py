"""Firing an automation: the window, the draft and the sale in one transaction, however many fire (P7)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.publishing.automation import Window
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.publishing import automation as automations
from fascicle.storage.publishing.firing import Firing, count_drafts, drafts, fire
from tests.drafts import add_account, add_automation, add_draft

SIX = datetime(2026, 11, 16, 18, tzinfo=UTC)
NOW = SIX + timedelta(minutes=3)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    async with transaction(opened) as connection:
        await add_account(connection)
    yield opened
    await opened.dispose()


async def shot(connection: AsyncConnection, key: str = "w1", automation_id: str = "daily") -> Firing | None:
    row = await automations.get(connection, automation_id)
    assert row is not None
    return await fire(connection, automations.checked(row), Window(key, SIX), NOW, Random(1))


async def row_of(connection: AsyncConnection, table: str, **where: Any) -> dict[str, Any]:
    condition = " and ".join(f"{name} = :{name}" for name in where) or "true"
    rows = await connection.execute(text(f"select * from {table} where {condition}"), where)
    return dict(rows.mappings().one())


async def test_p7_a_draft_is_scheduled_with_what_it_left_unset(engine: AsyncEngine) -> None:
    defaults = {"tags": ["ink"], "feature": True, "display_resolution": 5, "description": "x", "noai": True}
    async with transaction(engine) as connection:
        await add_draft(connection, "moon", feature=False, display_resolution=0, description="", tags=[])
        await add_automation(connection, defaults=defaults, jitter_seconds=90.0, sale={"points": 80})
        firing = await shot(connection)
        post = await row_of(connection, "post")
        run = await row_of(connection, "automation_run")
        event = await row_of(connection, "post_event", kind="scheduled_by_automation")
        sale = await row_of(connection, "sale")
    assert firing == Firing("moon", "Moon", ("noai",))
    assert (post["feature"], post["display_resolution"], post["description"], post["tags"]) == (
        False,
        0,
        "",
        [],
    )
    assert (post["noai"], post["state"], post["publish_at"]) == (True, "scheduled", NOW)
    assert (post["jitter_seconds"], post["automation_id"]) == (90.0, "daily")
    assert (post["due_at"], post["planned_for"]) == (None, None)
    assert (run["outcome"], run["post_id"], run["window_key"], run["at"]) == ("scheduled", "moon", "w1", NOW)
    assert event["detail"] == {"automation": "daily", "window": "w1", "filled": ["noai"]}
    assert (sale["state"], sale["price"]) == ("waiting", {"points": 80})


async def test_p7_a_window_fires_once_and_without_drafts_it_is_used_up(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_automation(connection)
        assert await shot(connection) == Firing()
        await add_draft(connection, "moon")
        assert await shot(connection) is None
        run = await row_of(connection, "automation_run")
        assert (run["outcome"], run["post_id"]) == ("no_drafts", None)
        assert (await row_of(connection, "post"))["state"] == "draft"
        assert await shot(connection, "w2") == Firing("moon", "Moon")


@pytest.mark.parametrize(
    ("strategy", "order"), [("fifo", ["a", "b", "c"]), ("lifo", ["c", "b", "a"]), ("random", None)]
)
async def test_p7_drafts_are_taken_by_strategy(
    engine: AsyncEngine, strategy: str, order: list[str] | None
) -> None:
    async with transaction(engine) as connection:
        for place, name in enumerate("bac"):
            created = SIX + timedelta(hours={"a": 1, "b": 2, "c": 3}[name], minutes=place)
            await add_draft(connection, name, created_at=created)
        await add_automation(connection, strategy=strategy)
        taken = [await shot(connection, f"w{n}") for n in range(4)]
    ids = [firing.post_id for firing in taken if firing and firing.post_id]
    assert sorted(ids) == ["a", "b", "c"]
    assert order is None or ids == order


async def test_p7_random_is_over_all_of_them(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        for name in "abc":
            await add_draft(connection, name)
        await add_automation(connection, strategy="random")
        row = await automations.get(connection, "daily")
        assert row is not None
        automation, chance = automations.checked(row), Random(7)
        first = [(await drafts(connection, automation, chance, limit=1))[0]["id"] for _ in range(60)]
    assert {first.count(name) > 8 for name in "abc"} == {True}


async def test_p7_what_cannot_go_out_is_not_taken(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_account(connection, "bob")
        await add_draft(connection, "another's", account_id="acc-bob")
        await add_draft(connection, "empty", files=0)
        await add_draft(connection, "arriving", stored=False)
        await add_draft(connection, "deleted", deleted_at=SIX)
        await add_draft(connection, "gone out", state="published")
        await add_draft(connection, "partly", files=2)
        await connection.execute(
            text("update post_file set stored_at = null where post_id = 'partly' and position = 2")
        )
        await add_draft(connection, "fileless", files=2)
        await connection.execute(text("update post_file set deleted_at = now() where post_id = 'fileless'"))
        await add_automation(connection)
        assert await count_drafts(connection, "acc-ann") == 0
        assert await shot(connection) == Firing()


@pytest.mark.parametrize("strategy", ["fifo", "lifo", "random"])
async def test_p7_many_at_once_never_take_the_same_draft(engine: AsyncEngine, strategy: str) -> None:
    async with transaction(engine) as connection:
        for n in range(6):
            await add_draft(connection, f"d{n}")
        for n in range(8):
            await add_automation(connection, f"auto{n}", strategy=strategy)
    together = asyncio.Barrier(8)

    async def one(n: int) -> Firing | None:
        async with transaction(engine) as connection:
            await connection.execute(text("select 1"))
            await together.wait()
            firing = await shot(connection, automation_id=f"auto{n}")
            await asyncio.sleep(0.05)
            return firing

    firings = await asyncio.gather(*(one(n) for n in range(8)))
    taken = [firing.post_id for firing in firings if firing and firing.post_id]
    assert sorted(taken) == [f"d{n}" for n in range(6)]
    assert firings.count(Firing()) == 2


async def test_p7_two_runs_at_once_fire_a_window_once(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_draft(connection, "moon")
        await add_draft(connection, "sun")
        await add_automation(connection)

    async def one() -> Firing | None:
        async with transaction(engine) as connection:
            firing = await shot(connection)
            await asyncio.sleep(0.05)
            return firing

    firings = await asyncio.gather(*(one() for _ in range(5)))
    assert sorted(firing is None for firing in firings) == [False, True, True, True, True]
    async with transaction(engine) as connection:
        assert await count_drafts(connection, "acc-ann") == 1


async def test_x1_a_crash_leaves_nothing_of_a_firing(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_draft(connection, "moon")
        await add_automation(connection, sale={"amount": "12.50", "currency": "USD"})

    async def crash() -> None:
        async with transaction(engine) as connection:
            await shot(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await crash()
    async with transaction(engine) as connection:
        assert (await row_of(connection, "post"))["state"] == "draft"
        assert await connection.scalar(text("select count(*) from automation_run")) == 0
        assert (await shot(connection)) == Firing("moon", "Moon")


async def test_p7_enabling_again_makes_nothing_up(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_automation(connection)
        assert not await automations.enable(connection, "daily", NOW), "it was, and keeps its time"
        assert (await row_of(connection, "automation"))["active_since"] < NOW
        assert await automations.disable(connection, "daily")
        assert await automations.active(connection) == []
        assert await automations.enable(connection, "daily", NOW)
        assert (await row_of(connection, "automation"))["active_since"] == NOW


async def test_p7_a_paused_account_fires_nothing(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await add_automation(connection)
        assert await automations.may_fire(connection, "daily", "w1")
        await connection.execute(text("update account set paused_at = now()"))
        assert await automations.active(connection) == []
        assert not await automations.may_fire(connection, "daily", "w1")
