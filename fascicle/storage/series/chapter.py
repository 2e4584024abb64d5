"""Chapters: those that a source has, and folding a listing into them (C4, C6)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fascicle.domain.series.chapter import ListedChapter, Upload
from fascicle.domain.series.chapter_key import read_number
from fascicle.domain.series.gaps import missing_numbers
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# One statement, one transaction, any number of chapters. Sorted, so that two batches cannot deadlock.
# `xmax = 0` holds for a row this statement inserted; it alone decides what is new.
_FOLD_IN = text("""
with listed as (
  select * from unnest(
    cast(:keys as text[]), cast(:numbers as numeric[]), cast(:raws as text[]), cast(:volumes as text[]),
    cast(:titles as text[]), cast(:published as timestamptz[]), cast(:urls as text[]),
    cast(:external as boolean[]), cast(:news as boolean[]), cast(:unavailable as boolean[])
  ) as t (chapter_key, number, raw_number, volume, title, published_at, url, external, news, unavailable)
), chapters as (
  insert into logical_chapter as c (series_id, chapter_key, number, raw_number, volume, title, published_at,
    first_detected_at, updated_at, announce, owed_at)
  select :series_id, chapter_key, number, raw_number, volume, title, published_at,
    :now, :now, case when news then 'owed' else 'silent' end,
    case when news then cast(:now as timestamptz) end
  from listed order by chapter_key
  on conflict (series_id, chapter_key) do update set
    volume = coalesce(c.volume, excluded.volume),
    title = coalesce(c.title, excluded.title),
    published_at = coalesce(c.published_at, excluded.published_at),
    updated_at = greatest(c.updated_at, excluded.updated_at)
  returning c.id, c.chapter_key, c.number, c.announce, (c.xmax = 0) as inserted
), sources as (
  insert into chapter_source as s (source_id, chapter_id, chapter_key, number, raw_number, url,
    external, first_detected_at, last_seen_at, unavailable_at)
  select :source_id, chapters.id, chapter_key, listed.number, raw_number, url, external, :now, :now,
    case when unavailable then cast(:now as timestamptz) end
  from listed join chapters using (chapter_key) order by chapter_key
  on conflict (source_id, chapter_key) do update set
    -- A page shows only some uploads of a chapter: a good link is not replaced by a worse one.
    url = case when s.unavailable_at is not null or s.external and not excluded.external
               then excluded.url else s.url end,
    external = s.external and excluded.external,
    last_seen_at = greatest(s.last_seen_at, excluded.last_seen_at),
    unavailable_at = case when excluded.unavailable_at is null then null else s.unavailable_at end
  returning s.chapter_key, (s.xmax = 0) as inserted
), uploads as (
  insert into chapter_upload as u (source_id, upload_id, chapter_key, raw_number, language, group_name, title,
    volume, url, external, pages, unavailable, published_at, first_seen_at, last_seen_at)
  select :source_id, t.*, :now, :now
  from unnest(
    cast(:u_ids as text[]), cast(:u_keys as text[]), cast(:u_raws as text[]), cast(:u_languages as text[]),
    cast(:u_groups as text[]), cast(:u_titles as text[]), cast(:u_volumes as text[]), cast(:u_urls as text[]),
    cast(:u_externals as boolean[]), cast(:u_pages as integer[]), cast(:u_unavailable as boolean[]),
    cast(:u_published as timestamptz[])
  ) as t (upload_id, chapter_key, raw_number, language, group_name, title, volume, url, external, pages,
    unavailable, published_at)
  order by upload_id
  on conflict (source_id, upload_id) do update set
    chapter_key = excluded.chapter_key,
    raw_number = excluded.raw_number,
    group_name = coalesce(excluded.group_name, u.group_name),
    title = coalesce(excluded.title, u.title),
    volume = coalesce(excluded.volume, u.volume),
    url = excluded.url,
    pages = coalesce(excluded.pages, u.pages),
    unavailable = excluded.unavailable,
    last_seen_at = greatest(u.last_seen_at, excluded.last_seen_at)
), raised as (
  update series set latest_chapter = fresh.number, last_chapter_at = :now
  from (select max(number) as number from chapters where inserted) as fresh
  where series.id = :series_id and fresh.number > coalesce(series.latest_chapter, -1)
)
select chapters.id, chapter_key, chapters.announce = 'owed' as owed, chapters.inserted as new_chapter,
  sources.inserted as new_source
from chapters join sources using (chapter_key)
order by chapters.number nulls last, chapter_key
""")


@dataclass(frozen=True)
class StoredChapter:
    chapter_id: int
    key: str
    owed: bool
    """Followers have not been told yet. True also when an earlier attempt stored it and died."""
    new_chapter: bool
    new_source: bool


@dataclass(frozen=True)
class KnownUpload:
    key: str
    raw_number: str | None


async def fold_in(
    connection: AsyncConnection,
    *,
    source_id: str,
    series_id: str,
    chapters: Sequence[ListedChapter],
    news: Collection[str],
    now: datetime,
) -> list[StoredChapter]:
    """Store chapters of one source; those whose key is in `news` are owed to followers if they are new."""
    if not chapters:
        return []
    rows = await connection.execute(
        _FOLD_IN,
        {
            "source_id": source_id,
            "series_id": series_id,
            "now": now,
            **_chapter_columns(chapters, news),
            **_upload_columns(chapters),
        },
    )
    return [StoredChapter(*row) for row in rows]


def _chapter_columns(chapters: Sequence[ListedChapter], news: Collection[str]) -> dict[str, list[Any]]:
    return {
        "keys": [c.key for c in chapters],
        "numbers": [c.number for c in chapters],
        "raws": [c.best.number for c in chapters],
        "volumes": [c.volume for c in chapters],
        "titles": [c.title for c in chapters],
        "published": [c.published_at for c in chapters],
        "urls": [c.best.url for c in chapters],
        "external": [c.best.external for c in chapters],
        "news": [c.key in news for c in chapters],
        "unavailable": [c.best.unavailable for c in chapters],
    }


def _upload_columns(chapters: Sequence[ListedChapter]) -> dict[str, list[Any]]:
    pairs = [(chapter.key, upload) for chapter in chapters for upload in chapter.uploads]
    return {
        "u_ids": [u.upload_id for _, u in pairs],
        "u_keys": [key for key, _ in pairs],
        "u_raws": [u.number for _, u in pairs],
        "u_languages": [u.language for _, u in pairs],
        "u_groups": [u.group for _, u in pairs],
        "u_titles": [u.title for _, u in pairs],
        "u_volumes": [u.volume for _, u in pairs],
        "u_urls": [u.url for _, u in pairs],
        "u_externals": [u.external for _, u in pairs],
        "u_pages": [u.pages for _, u in pairs],
        "u_unavailable": [u.unavailable for _, u in pairs],
        "u_published": [u.published_at for _, u in pairs],
    }


async def known_uploads(
    connection: AsyncConnection, source_id: str, uploads: Iterable[Upload]
) -> dict[str, KnownUpload]:
    rows = await connection.execute(
        text("""select upload_id, chapter_key, raw_number from chapter_upload
                where source_id = :source_id and upload_id = any(cast(:ids as text[]))"""),
        {"source_id": source_id, "ids": [u.upload_id for u in uploads]},
    )
    return {upload_id: KnownUpload(key, raw) for upload_id, key, raw in rows}


async def keys_with_numbers(
    connection: AsyncConnection, source_id: str, numbers: Collection[Decimal]
) -> dict[str, str | None]:
    """The source's stored chapter keys for these numbers, each with the text the site wrote."""
    rows = await connection.execute(
        text("""select chapter_key, raw_number from chapter_source
                where source_id = :source_id and number = any(cast(:numbers as numeric[]))"""),
        {"source_id": source_id, "numbers": list(numbers)},
    )
    return {row[0]: row[1] for row in rows}


async def settled_keys(
    connection: AsyncConnection, source_id: str, keys: Collection[str]
) -> tuple[set[str], set[str]]:
    """The keys among these that are stored already, and those whose dead letter forbids a retry."""
    stored = await connection.execute(
        text("""select chapter_key from chapter_source
                where source_id = :source_id and chapter_key = any(cast(:keys as text[]))"""),
        {"source_id": source_id, "keys": list(keys)},
    )
    buried = await connection.execute(
        text("""select substr(job_key, length(:source_id) + 2) from dead_letter
                where kind = 'ingest' and job_key = any(cast(:job_keys as text[]))
                  and (state = 'discarded' or (state = 'open' and not retryable))"""),
        {"source_id": source_id, "job_keys": [f"{source_id}:{key}" for key in keys]},
    )
    return set(stored.scalars()), set(buried.scalars())


async def owed_chapters(
    connection: AsyncConnection,
    source_id: str,
    *,
    after: int = 0,
    limit: int,
    before: datetime | None = None,
    now: datetime | None = None,
) -> list[tuple[int, str]]:
    """Chapters of this source that are owed to followers: (chapter id, key), by id.

    `before` leaves out chapters that became owed later, which another run handles, except at exactly `now`.
    """
    rows = await connection.execute(
        text("""select c.id, c.chapter_key from logical_chapter c
                join source on source.series_id = c.series_id
                join chapter_source s on s.chapter_id = c.id and s.source_id = source.id
                where source.id = :source_id and c.announce = 'owed' and c.id > :after
                  and (coalesce(c.owed_at, '-infinity') < coalesce(cast(:before as timestamptz), 'infinity')
                       or c.owed_at = :now)
                order by c.id limit :limit"""),
        {"source_id": source_id, "after": after, "limit": limit, "before": before, "now": now},
    )
    return [(chapter_id, key) for chapter_id, key in rows]


async def release_times(connection: AsyncConnection, series_id: str, *, limit: int) -> list[datetime]:
    """When the newest chapters came out, by publication date or first sighting; a burst is one release."""
    rows = await connection.execute(
        text("""select distinct date_trunc('minute', coalesce(published_at, first_detected_at)) as at
                from logical_chapter where series_id = :series_id order by at desc limit :limit"""),
        {"series_id": series_id, "limit": limit},
    )
    return list(rows.scalars())


async def gaps(connection: AsyncConnection, series_id: str) -> list[tuple[int, int]]:
    """Numbers that no source of the series has. If its numbering restarts, no gaps are reported."""
    rows = await connection.execute(
        text("""select c.number, c.raw_number from logical_chapter c join series on series.id = c.series_id
                where c.series_id = :series_id and c.number is not null and not series.numbering_restarts"""),
        {"series_id": series_id},
    )
    return missing_numbers((_first_of(raw, number), number) for number, raw in rows)


def _first_of(raw: str | None, number: Decimal) -> Decimal:
    """The first number of a range such as 1-8; for any other text, the number itself."""
    read = read_number(raw)
    return Decimal(read.first) if read is not None and read.first is not None else number


async def flag_vanished(connection: AsyncConnection, source_id: str, since: datetime, now: datetime) -> int:
    """After a complete listing begun at `since`: mark chapters without a readable upload (C12)."""
    result = await connection.execute(
        # NOT IN always uses a hash; NOT EXISTS, if planned on an empty table, reads it once per chapter.
        text("""update chapter_source set unavailable_at = :now
                where source_id = :id and unavailable_at is null and chapter_key not in (
                  select chapter_key from chapter_upload
                  where source_id = :id and last_seen_at >= :since and not unavailable)"""),
        {"id": source_id, "since": since, "now": now},
    )
    return result.rowcount


async def of_series(connection: AsyncConnection, series_id: str) -> list[dict[str, Any]]:
    """The chapters of a series in reading order, each with its sources."""
    rows = await connection.execute(
        text("""select c.id, c.chapter_key as key, c.raw_number, c.volume, c.title, c.published_at,
                  c.first_detected_at, c.announce,
                  coalesce(jsonb_agg(jsonb_build_object(
                      'source_id', s.source_id, 'site', source.site, 'url', s.url,
                      'first_detected_at', s.first_detected_at, 'last_seen_at', s.last_seen_at,
                      'available', s.unavailable_at is null,
                      'uploads', (select count(*) from chapter_upload u
                                  where u.source_id = s.source_id and u.chapter_key = s.chapter_key)
                    ) order by s.id) filter (where s.id is not null), '[]') as sources
                from logical_chapter c join series on series.id = c.series_id
                left join chapter_source s on s.chapter_id = c.id
                left join source on source.id = s.source_id
                where c.series_id = :series_id
                group by c.id, series.numbering_restarts
                order by case when series.numbering_restarts and c.volume ~ '^[0-9]{1,9}([.][0-9]+)?$'
                              then c.volume::numeric end nulls last, c.number nulls last, c.chapter_key"""),
        {"series_id": series_id},
    )
    return [dict(row) for row in rows.mappings()]
