"""Sets up thousands of followed and synced sources: on the site, in the database, with a workflow."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg

from bench.stack import BenchStack
from fascicle.domain.names import new_id, source_workflow_id
from fascicle.domain.series.cadence import Cadence
from fascicle.services.series.onboarding import ensure_workflow
from fascicle.sites.mangadex import NAME, PUBLIC_URL
from simulator.ids import upload_id
from simulator.specs import SeriesSpec, UploadSpec, to_utc_second

_AT_ONCE = 16


@dataclass(frozen=True)
class Followed:
    """A source as the database has it some time after its first sync."""

    site_key: str
    title: str
    published: list[datetime]
    cadence: Cadence
    last_new_at: datetime
    complete_listing_at: datetime
    next_check_at: datetime
    pinned: Cadence | None = None
    source_id: str = field(default_factory=new_id)
    """A new id each time, so that a workflow of an earlier setup is never mistaken for its own."""


async def add_to_the_site(stack: BenchStack, followed: Sequence[Followed]) -> None:
    for one in followed:
        uploads = tuple(
            UploadSpec(chapter=str(number), created_at=moment)
            for number, moment in enumerate(one.published, 1)
        )
        await stack.simulator.add_series(SeriesSpec(id=one.site_key, title=one.title, chapters=uploads))


async def write_books(stack: BenchStack, followed: Sequence[Followed]) -> None:
    """Store only these sources with all their chapters, as a first sync of each would have done."""
    connection = await asyncpg.connect(stack.database_url.replace("postgresql+asyncpg", "postgresql"))
    try:
        async with connection.transaction():
            await connection.execute("truncate series, sweep cascade")
            for table, columns, rows in (
                ("series", _SERIES, [_series_row(one) for one in followed]),
                ("source", _SOURCE, [_source_row(one) for one in followed]),
                ("logical_chapter", _CHAPTER, [row for one in followed for row in _chapter_rows(one)]),
                ("chapter_upload", _UPLOAD, [row for one in followed for row in _upload_rows(one)]),
            ):
                await connection.copy_records_to_table(table, records=rows, columns=columns)
            await connection.execute(_CHAPTER_SOURCES)
        await connection.execute("analyze")
    finally:
        await connection.close()


async def start_workflows(stack: BenchStack, source_ids: Sequence[str]) -> None:
    await in_parallel(source_ids, lambda i: ensure_workflow(stack.dependencies, stack.client, i))


async def stop_workflows(stack: BenchStack, source_ids: Sequence[str]) -> None:
    """Terminate them: their work is not needed any more."""

    async def stop(source_id: str) -> None:
        await stack.client.get_workflow_handle(source_workflow_id(source_id)).terminate("the day is over")

    await in_parallel(source_ids, stop)


async def in_parallel(arguments: Sequence[Any], work: Callable[[Any], Awaitable[Any]]) -> list[Any]:
    """Run `work` for all arguments, a few at a time."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(argument: Any) -> Any:
        async with limit:
            return await work(argument)

    return await asyncio.gather(*(one(argument) for argument in arguments))


_SERIES = ["id", "title", "latest_chapter", "last_chapter_at"]


def _series_row(one: Followed) -> tuple[Any, ...]:
    # Each source has its own series with the same id.
    return one.source_id, one.title, len(one.published), one.last_new_at


_SOURCE = [
    *("id", "series_id", "site", "site_key", "url", "title", "languages", "cadence", "pinned_cadence"),
    *("first_synced_at", "complete_listing_at", "last_checked_at", "last_success_at", "last_new_at"),
    "next_check_at",
]


def _source_row(one: Followed) -> tuple[Any, ...]:
    seen = one.complete_listing_at
    return (
        *(one.source_id, one.source_id, NAME, one.site_key, f"{PUBLIC_URL}/title/{one.site_key}", one.title),
        *(["en"], one.cadence.value, one.pinned.value if one.pinned else None),
        *(seen, seen, seen, seen, one.last_new_at, one.next_check_at),
    )


_CHAPTER = [
    *("series_id", "chapter_key", "number", "raw_number", "published_at", "first_detected_at", "updated_at"),
    "announce",
]


def _chapter_rows(one: Followed) -> list[tuple[Any, ...]]:
    return [
        (one.source_id, str(n), n, str(n), to_utc_second(at), one.last_new_at, one.last_new_at, "silent")
        for n, at in enumerate(one.published, 1)
    ]


_UPLOAD = [
    *("source_id", "upload_id", "chapter_key", "raw_number", "language", "group_name", "url", "external"),
    *("pages", "unavailable", "published_at", "first_seen_at", "last_seen_at"),
]


def _upload_rows(one: Followed) -> list[tuple[Any, ...]]:
    rows = []
    for number, at in enumerate(one.published, 1):
        upload = upload_id(one.site_key, number)
        url = f"{PUBLIC_URL}/chapter/{upload}"
        listed = (one.source_id, upload, str(number), str(number), "en", "Example Scans", url, False, 20)
        rows.append((*listed, False, to_utc_second(at), one.last_new_at, one.last_new_at))
    return rows


_CHAPTER_SOURCES = """
insert into chapter_source (source_id, chapter_id, chapter_key, number, raw_number, url, external,
  first_detected_at, last_seen_at)
select source.id, c.id, c.chapter_key, c.number, c.raw_number, u.url, u.external, u.first_seen_at,
  u.last_seen_at
from logical_chapter c
join source on source.series_id = c.series_id
join chapter_upload u on u.source_id = source.id and u.chapter_key = c.chapter_key
"""
