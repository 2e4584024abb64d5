"""Folding a listing into the database (C4, C6)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.series.chapter import ListedChapter, SeriesInfo, Upload
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources
from fascicle.storage.series.chapter import StoredChapter

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


async def test_c6_latest_chapter_only_rises(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    sql = "select latest_chapter from series"
    await fold(engine, source, listed("10"), listed("x:extra"))
    await fold(engine, source, listed("9.5"))
    assert await scalar(engine, sql) == Decimal("10")
    await fold(engine, source, listed("10.5"))
    assert await scalar(engine, sql) == Decimal("10.5")


async def test_c4_one_chapter_from_two_sources_is_one_chapter_with_two_sources(engine: AsyncEngine) -> None:
    first = await add(engine, "a")
    second = await add(engine, "b", series_id=first[1])
    [one] = await fold(engine, first, listed("45"))
    [other] = await fold(engine, second, listed("45", upload_id="elsewhere"))
    assert one.chapter_id == other.chapter_id
    assert (other.new_chapter, other.new_source) == (False, True)
    assert await scalar(engine, "select count(*) from chapter_source") == 2


async def test_x1_a_chapter_stays_owed_until_it_was_announced(engine: AsyncEngine) -> None:
    """The attempt that stored it died before it could say so: the next one must still know."""
    source = await add(engine, "a")
    await fold(engine, source, listed("1"))
    [again] = await fold(engine, source, listed("1"), now=LATER)
    assert again.owed
    assert not again.new_chapter
    [silent] = await fold(engine, source, listed("2"), news=False)
    assert not silent.owed
    [asked_later] = await fold(engine, source, listed("2"), news=True)
    assert not asked_later.owed, "history does not become news by being listed again"


async def test_c4_concurrent_ingests_of_overlapping_batches_double_nothing(engine: AsyncEngine) -> None:
    first = await add(engine, "a")
    second = await add(engine, "b", series_id=first[1])
    numbers = [str(n) for n in range(200)]
    batches = [
        fold(engine, source, *(listed(n, upload_id=f"{source[0]}-{n}") for n in numbers[start : start + 150]))
        for source in (first, second)
        for start in (0, 50, 25)
    ]
    results = await asyncio.gather(*batches)
    assert sum(c.new_chapter for stored in results for c in stored) == 200
    assert await scalar(engine, "select count(*) from logical_chapter") == 200
    assert await scalar(engine, "select count(*) from chapter_source") == 400


async def test_c5_an_upload_that_is_renumbered_moves(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, listed("46", upload_id="typo"))
    await fold(engine, source, listed("45", upload_id="typo"))
    assert await scalar(engine, "select chapter_key from chapter_upload") == "45"


async def test_c5_a_good_link_is_not_replaced_by_a_worse_one(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    sql = "select url from chapter_source"
    publisher = Upload(upload_id="p", number="1", url="https://publisher", external=True)
    await fold(engine, source, ListedChapter(key="1", uploads=[publisher]))
    await fold(engine, source, listed("1", upload_id="hosted"))
    assert await scalar(engine, sql) == "https://x/1"
    await fold(engine, source, ListedChapter(key="1", uploads=[publisher]))
    assert await scalar(engine, sql) == "https://x/1"


async def test_c12_only_what_a_complete_listing_did_not_see_is_flagged(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, listed("1"), listed("2"), listed("3"))
    await fold(engine, source, listed("1"), now=LATER)
    await fold(engine, source, listed("3", unavailable=True), now=LATER)
    async with transaction(engine) as connection:
        assert await chapters.flag_vanished(connection, source[0], LATER, LATER) == 2
    flagged = "select array_agg(chapter_key order by id) from chapter_source where unavailable_at is not null"
    assert await scalar(engine, flagged) == ["2", "3"]
    await fold(engine, source, listed("2"), now=LATER)
    assert await scalar(engine, flagged) == ["3"], "a chapter that returns is available again"


async def test_c12_a_late_retry_does_not_turn_back_the_clock(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, listed("1"), now=LATER)
    await fold(engine, source, listed("1"), now=NOW)
    async with transaction(engine) as connection:
        assert await chapters.flag_vanished(connection, source[0], LATER, LATER) == 0


async def test_c5_chapters_are_listed_in_numeric_order(engine: AsyncEngine) -> None:
    source = await add(engine, "a")
    await fold(engine, source, *(listed(k) for k in ("10", "9", "x:oneshot", "9.5", "0.1", "0.10", "100")))
    async with transaction(engine) as connection:
        rows = await chapters.of_series(connection, source[1])
    assert [row["key"] for row in rows] == ["0.1", "0.10", "9", "9.5", "10", "100", "x:oneshot"]
