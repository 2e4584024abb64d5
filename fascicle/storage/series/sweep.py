"""Sweeps: how far each site's list of news was read, and the sources that an entry concerns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.chapter import LatestEntry
from fascicle.domain.series.sweep import SweepCursor
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# The sources that a sweep may wake: synced once, not paused, and without an open circuit.
_ACTIVE = """source.site = :site and source.removed_at is null and source.paused_at is null
  and source.first_synced_at is not null and source.circuit = 'closed'"""


@dataclass(frozen=True)
class Unstored:
    """An entry of the list that a followed source has not stored yet."""

    source_id: str
    upload_id: str


@dataclass(frozen=True)
class SiteInterest:
    """The number of a site's followed sources, and the languages that they want."""

    sources: int
    languages: list[str]
    """Empty: all of them."""


async def interest(connection: AsyncConnection, site: str) -> SiteInterest:
    rows = await connection.execute(
        text("""select count(*), coalesce(bool_or(cardinality(languages) = 0), false)
                from source where site = :site and removed_at is null and paused_at is null"""),
        {"site": site},
    )
    count, is_any = rows.one()
    if is_any or not count:
        return SiteInterest(count, [])
    languages = await connection.execute(
        text("""select distinct unnest(languages) from source
                where site = :site and removed_at is null and paused_at is null order by 1"""),
        {"site": site},
    )
    return SiteInterest(count, list(languages.scalars()))


async def cursor(connection: AsyncConnection, site: str) -> SweepCursor:
    found = await connection.scalar(text("select cursor from sweep where site = :site"), {"site": site})
    return SweepCursor.model_validate(found or {})


async def last_success_at(connection: AsyncConnection, site: str) -> datetime | None:
    found: datetime | None = await connection.scalar(
        text("select last_success_at from sweep where site = :site"), {"site": site}
    )
    return found


async def stale(connection: AsyncConnection, before: datetime) -> list[str]:
    """Sites whose sources still rely on a sweep that last worked before then."""
    rows = await connection.execute(
        text("select site from sweep where last_success_at < :before order by site"), {"before": before}
    )
    return list(rows.scalars())


async def unstored(
    connection: AsyncConnection, site: str, entries: Collection[LatestEntry]
) -> list[Unstored]:
    """The entries that concern a followed source and are not in the database yet."""
    rows = await connection.execute(
        text(f"""select distinct source.id, t.upload_id
                from unnest(cast(:keys as text[]), cast(:uploads as text[]), cast(:languages as text[]))
                  as t (series_key, upload_id, language)
                join source on source.site_key = t.series_key and {_ACTIVE}
                where (t.language is null or cardinality(source.languages) = 0
                       or t.language = any(source.languages))
                  and not exists (select 1 from chapter_upload u
                                  where u.source_id = source.id and u.upload_id = t.upload_id)"""),
        {
            "site": site,
            "keys": [entry.series_key for entry in entries],
            "uploads": [entry.upload_id for entry in entries],
            "languages": [entry.language for entry in entries],
        },
    )
    return [Unstored(*row) for row in rows]


async def active_sources(connection: AsyncConnection, site: str) -> list[tuple[str, Cadence]]:
    rows = await connection.execute(
        text(f"select id, cadence from source where {_ACTIVE} order by id"),
        {"site": site},
    )
    return [(source_id, Cadence(cadence)) for source_id, cadence in rows]


_SUCCEEDED = text(
    """
insert into sweep (site, cursor, last_success_at) values (:site, :cursor, :now)
on conflict (site) do update set cursor = excluded.cursor, last_success_at = excluded.last_success_at,
  failures = 0, last_error = null
""",
    jsonb=("cursor",),
)


async def record_success(connection: AsyncConnection, site: str, reached: SweepCursor, now: datetime) -> None:
    await connection.execute(
        _SUCCEEDED, {"site": site, "cursor": reached.model_dump(mode="json"), "now": now}
    )


async def record_failure(connection: AsyncConnection, site: str, failures: int, error: str) -> None:
    await connection.execute(
        text("""insert into sweep (site, failures, last_error) values (:site, :failures, :error)
                on conflict (site) do update set failures = :failures, last_error = :error"""),
        {"site": site, "failures": failures, "error": error},
    )


async def forget_success(connection: AsyncConnection, site: str) -> None:
    """From now on the sources use their own timers; the cursor stays for when the sweep works again."""
    await connection.execute(
        text("update sweep set last_success_at = null where site = :site"), {"site": site}
    )


async def sites_followed(connection: AsyncConnection) -> list[str]:
    rows = await connection.execute(
        text("select distinct site from source where removed_at is null order by site")
    )
    return list(rows.scalars())


async def listing(connection: AsyncConnection) -> Sequence[dict[str, object]]:
    rows = await connection.execute(
        text("""select site, last_success_at, failures, last_error,
                  cast(cursor ->> 'at' as timestamptz) as read_up_to
                from sweep order by site""")
    )
    return [dict(row) for row in rows.mappings()]
