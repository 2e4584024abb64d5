"""Folding a listing into the database (C4, C6)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.chapter import ListedChapter, SeriesInfo, Upload
from fascicle.storage import chapter as chapters
from fascicle.storage import source as sources
from fascicle.storage.chapter import StoredChapter
from fascicle.storage.database import open_engine, transaction

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


async def add(engine: AsyncEngine, site_key: str, series_id: str | None = None) -> tuple[str, str]:
    info = SeriesInfo(site_key=site_key, title=f"Series {site_key}", url="https://x")
    async with transaction(engine) as connection:
        source_id, _ = await sources.add(
            connection, site="mangadex", info=info, series_id=series_id, languages=["en"]
        )
        source = await sources.get(connection, source_id)
    assert source is not None
    return source_id, source.series_id


def listed(key: str, upload_id: str | None = None, **values: Any) -> ListedChapter:
    number = None if key.startswith("x:") else key
    upload = Upload(upload_id=upload_id or f"u-{key}", number=number, url=f"https://x/{key}", **values)
    return ListedChapter(key=key, uploads=[upload])


async def fold(
    engine: AsyncEngine,
    source: tuple[str, str],
    *batch: ListedChapter,
    news: bool = True,
    now: datetime = NOW,
) -> list[StoredChapter]:
    async with transaction(engine) as connection:
        return await chapters.fold_in(
            connection,
            source_id=source[0],
            series_id=source[1],
            chapters=batch,
            news={c.key for c in batch} if news else set(),
            now=now,
        )


async def scalar(engine: AsyncEngine, sql: str) -> Any:
    async with transaction(engine) as connection:
        return await connection.scalar(text(sql))


async def test_c6_new_is_what_the_insert_says(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    first = await fold(engine, source, listed("1"), listed("2"))
    again = await fold(engine, source, listed("2"), listed("3"), now=LATER)
    assert [(c.key, c.new_chapter, c.new_source) for c in first] == [("1", True, True), ("2", True, True)]
    assert [(c.key, c.new_chapter, c.new_source) for c in again] == [("2", False, False), ("3", True, True)]


async def test_c6_reingest_updates_timestamps_only(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, listed("1", title="One", volume="1", published_at=NOW))
    sql = "select to_jsonb(c) - 'updated_at' from logical_chapter c"
    source_sql = "select to_jsonb(s) - 'last_seen_at' from chapter_source s"
    before = await scalar(engine, sql), await scalar(engine, source_sql)
    await fold(engine, source, listed("1", title="One", volume="1", published_at=NOW), now=LATER)
    assert (await scalar(engine, sql), await scalar(engine, source_sql)) == before
    assert await scalar(engine, "select updated_at from logical_chapter") == LATER
    assert await scalar(engine, "select last_seen_at from chapter_source") == LATER
    assert await scalar(engine, "select first_detected_at from logical_chapter") == NOW


async def test_c6_better_data_fills_gaps_and_never_blanks_them(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, listed("1"))
    await fold(engine, source, listed("1", title="One", published_at=NOW))
    await fold(engine, source, listed("1", title=None, volume="2"))
    sql = "select array[title, volume, (published_at is not null)::text] from logical_chapter"
    assert await scalar(engine, sql) == ["One", "2", "true"]
