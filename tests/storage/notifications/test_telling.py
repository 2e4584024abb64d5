"""Whom a chapter is told to, under the statements' own races (C8)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.series.chapter import ListedChapter, SeriesInfo, Upload
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.notifications import digest
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.notifications.channel import add_channel
from fascicle.storage.series import library
from fascicle.storage.series import source as sources
from fascicle.storage.series.chapter import fold_in
from tests.vaults import a_vault

RELEASE = datetime(2026, 11, 16, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


class Shelf:
    """One series on one source, in one transaction after the other."""

    def __init__(self, source_id: str, series_id: str) -> None:
        self._source_id = source_id
        self.series_id = series_id

    @classmethod
    async def set_up(cls, connection: AsyncConnection, *, restarts: bool = False) -> "Shelf":
        info = SeriesInfo(site_key="k", title="Lanterns", url="https://x.test/k", numbering_restarts=restarts)
        source_id, _ = await sources.add(connection, site="x", info=info, series_id=None, languages=[])
        return cls(source_id, await connection.scalar(text("select series_id from source")))

    async def follower(self, connection: AsyncConnection, name: str, **wishes: Any) -> str:
        user_id, _ = await library.add_user(connection, name)
        await add_channel(connection, a_vault(), user_id, f"json://x.test/{name}")
        await library.follow(connection, user_id, self.series_id)
        await library.set_wishes(connection, user_id, wishes)
        await connection.execute(text("update library_entry set created_at = '2026-01-01Z'"))
        return user_id

    async def store(self, connection: AsyncConnection, now: datetime, **upload: Any) -> int:
        listed = Upload(**{"upload_id": "u", "number": "1", "url": "https://x.test/1", **upload})
        [stored] = await fold_in(
            connection,
            source_id=self._source_id,
            series_id=self.series_id,
            chapters=[ListedChapter(key=listed.number or "x", uploads=[listed])],
            news={listed.number or "x"},
            now=now,
        )
        return stored.chapter_id


async def tell(connection: AsyncConnection, chapter_id: int, now: datetime) -> int:
    page = await notifications.fan_out(connection, chapter_id, after="", limit=1000, cap=100, now=now)
    return page.told


async def test_c8_a_language_that_comes_while_others_are_told_is_not_overlooked(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        shelf = await Shelf.set_up(connection)
        await shelf.follower(connection, "fleur", languages=["fr"])
        await shelf.follower(connection, "ann")
        chapter = await shelf.store(connection, RELEASE, upload_id="en", language="en")
    now = RELEASE + 10 * MINUTE
    async with transaction(engine) as connection:
        seen = await notifications.owed_round(connection, chapter)
        assert await tell(connection, chapter, now) == 1
    async with transaction(engine) as connection:
        await shelf.store(connection, now + MINUTE, upload_id="fr", language="fr")
        assert await notifications.owe_new_languages(connection, shelf.series_id, ["1"], now + MINUTE)
    async with transaction(engine) as connection:
        assert not await notifications.mark_announced(connection, chapter, seen, now)
        seen = await notifications.owed_round(connection, chapter)
        assert await tell(connection, chapter, now) == 1, "fleur; ann has her row"
        assert await notifications.mark_announced(connection, chapter, seen, now)


async def test_c8_where_numbering_restarts_a_chapter_without_a_volume_is_not_taken_as_read(
    engine: AsyncEngine,
) -> None:
    async with transaction(engine) as connection:
        shelf = await Shelf.set_up(connection, restarts=True)
        user_id = await shelf.follower(connection, "ann")
        await library.mark_read(connection, user_id, shelf.series_id, Decimal(5), Decimal(3))
        for number, volume, told in (("6", None, 1), ("4", "3", 0), ("9", "2", 0), ("1", "4", 1)):
            chapter = await shelf.store(connection, RELEASE, upload_id=number, number=number, volume=volume)
            assert await tell(connection, chapter, RELEASE) == told, (volume, number)


async def test_x1_digests_composed_twice_at_once_are_one(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        shelf = await Shelf.set_up(connection)
        await shelf.follower(connection, "ann", mode="hourly")
        await tell(connection, await shelf.store(connection, RELEASE), RELEASE)
    now = RELEASE + timedelta(hours=2)
    async with engine.connect() as first, engine.connect() as second:
        await first.begin()
        await second.begin()
        assert await digest.compose(first, now, limit=10) == (1, 1)
        racing = asyncio.create_task(digest.compose(second, now, limit=10))
        await asyncio.sleep(0.2)
        await first.commit()
        assert (await racing)[1] == 0
        await second.commit()
    async with transaction(engine) as connection:
        assert await connection.scalar(text("select count(*) from digest")) == 1
        assert await connection.scalar(text("select count(*) from delivery")) == 1
