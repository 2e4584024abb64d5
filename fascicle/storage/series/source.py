"""Series and their sources."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import ErrorRecord
from fascicle.domain.names import FEED_SITE, new_id
from fascicle.domain.series.breaker import BreakerState, Circuit
from fascicle.domain.series.cadence import Cadence, Plan
from fascicle.domain.series.chapter import SeriesInfo
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy import RowMapping
    from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True)
class Source:
    id: str
    series_id: str
    """Empty for a feed."""
    site: str
    site_key: str
    title: str
    languages: list[str]
    pinned_cadence: Cadence | None
    breaker: BreakerState
    numbering_restarts: bool
    announce_history: bool
    first_synced_at: datetime | None
    complete_listing_at: datetime | None
    last_checked_at: datetime | None
    last_success_at: datetime | None
    last_new_at: datetime | None
    next_check_at: datetime | None
    next_check_reason: str | None
    sweep_missed_at: datetime | None
    paused_reason: str | None
    removed_at: datetime | None
    sibling_success_at: datetime | None
    """When another source of the series last had a good poll; None while this is the only one synced."""
    chapters: int
    losses: int
    """How often in a row the worker ended while it polled this source."""

    @property
    def is_feed(self) -> bool:
        return self.site == FEED_SITE


_SELECT = """
select source.*, coalesce(series.numbering_restarts, false) as numbering_restarts,
  (select max(other.last_success_at) from source other
   where other.series_id = source.series_id and other.id <> source.id
     and other.first_synced_at is not null and other.removed_at is null)
  as sibling_success_at,
  (select count(*) from chapter_source where chapter_source.source_id = source.id) as chapters
from source left join series on series.id = source.series_id
"""


def _source(row: RowMapping) -> Source:
    pinned = row["pinned_cadence"]
    return Source(
        id=row["id"],
        series_id=row["series_id"] or "",
        site=row["site"],
        site_key=row["site_key"],
        title=row["title"],
        languages=row["languages"],
        pinned_cadence=Cadence(pinned) if pinned else None,
        breaker=BreakerState(Circuit(row["circuit"]), row["failure_count"], row["next_check_at"]),
        numbering_restarts=row["numbering_restarts"],
        announce_history=row["announce_history"],
        first_synced_at=row["first_synced_at"],
        complete_listing_at=row["complete_listing_at"],
        last_checked_at=row["last_checked_at"],
        last_success_at=row["last_success_at"],
        last_new_at=row["last_new_at"],
        next_check_at=row["next_check_at"],
        next_check_reason=row["next_check_reason"],
        sweep_missed_at=row["sweep_missed_at"],
        paused_reason=row["paused_reason"],
        removed_at=row["removed_at"],
        sibling_success_at=row["sibling_success_at"],
        chapters=row["chapters"],
        losses=row["losses"],
    )


async def get(connection: AsyncConnection, source_id: str) -> Source | None:
    rows = await connection.execute(text(_SELECT + "where source.id = :id"), {"id": source_id})
    row = rows.mappings().first()
    return _source(row) if row else None


async def find(connection: AsyncConnection, site: str, site_key: str) -> Source | None:
    rows = await connection.execute(
        text(_SELECT + "where source.site = :site and source.site_key = :site_key"),
        {"site": site, "site_key": site_key},
    )
    row = rows.mappings().first()
    return _source(row) if row else None


_INSERT = text("""
insert into source (id, series_id, site, site_key, url, title, languages, pinned_cadence, cadence,
  announce_history)
values (:id, :series_id, :site, :site_key, :url, :title, :languages, :pinned, coalesce(:pinned, 'HOT'),
  :announce_history)
""")

_REVIVE = text("""
update source set removed_at = null, paused_at = null, paused_reason = null, next_check_at = null,
  languages = :languages, pinned_cadence = :pinned, announce_history = :announce_history
where id = :id
""")


async def add(
    connection: AsyncConnection,
    *,
    site: str,
    info: SeriesInfo,
    series_id: str | None,
    languages: list[str],
    cadence: Cadence | None = None,
    announce_history: bool = False,
) -> tuple[str, bool]:
    """The id of the source of this series on this site, and whether this call created or revived it.

    A source that was removed comes back to life with everything it had stored.
    """
    # Two people who add the same series at the same time must not create it twice.
    await connection.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:what, 0))"), {"what": f"{site}:{info.site_key}"}
    )
    wishes = {"languages": languages, "pinned": cadence, "announce_history": announce_history}
    existing = await find(connection, site, info.site_key)
    if existing is not None:
        if existing.removed_at is not None:
            await connection.execute(_REVIVE, {"id": existing.id, **wishes})
        return existing.id, existing.removed_at is not None
    values = {
        "id": new_id(),
        "series_id": series_id or await _add_series(connection, info),
        "site": site,
        "site_key": info.site_key,
        "url": info.url,
        "title": info.title,
    }
    await connection.execute(_INSERT, {**values, **wishes})
    return values["id"], True


async def _add_series(connection: AsyncConnection, info: SeriesInfo) -> str:
    series_id = new_id()
    await connection.execute(
        text("insert into series (id, title, numbering_restarts) values (:id, :title, :restarts)"),
        {"id": series_id, "title": info.title, "restarts": info.numbering_restarts},
    )
    return series_id


async def record_success(
    connection: AsyncConnection,
    source_id: str,
    *,
    now: datetime,
    plan: Plan,
    last_new_at: datetime | None = None,
    complete: bool = False,
) -> int:
    """A good poll closes the circuit. `complete`: the whole list was read. Returns its number of chapters."""
    stored: int = await connection.scalar(
        text("""update source set last_checked_at = :now, last_success_at = :now, failure_count = 0,
                  circuit = 'closed', last_error_code = null, last_error = null,
                  cadence = :cadence, next_check_at = :next_check_at, next_check_reason = :reason,
                  last_new_at = greatest(last_new_at, cast(:last_new_at as timestamptz)),
                  first_synced_at = case when :complete then coalesce(first_synced_at, :now)
                                         else first_synced_at end,
                  complete_listing_at = case when :complete then :now else complete_listing_at end
                where id = :id
                returning (select count(*) from chapter_source where source_id = source.id)"""),
        {
            "id": source_id,
            "now": now,
            **_planned(plan),
            "last_new_at": last_new_at,
            "complete": complete,
        },
    )
    return stored


def _planned(plan: Plan) -> dict[str, Any]:
    return {"cadence": plan.cadence, "next_check_at": plan.next_check_at, "reason": plan.reason}


async def record_failure(
    connection: AsyncConnection,
    source_id: str,
    *,
    now: datetime,
    state: BreakerState,
    plan: Plan,
    error: ErrorRecord,
) -> None:
    await connection.execute(
        text("""update source set last_checked_at = :now, failure_count = :failures, circuit = :circuit,
                  cadence = :cadence, next_check_at = :next_check_at, next_check_reason = :reason,
                  last_error_code = :code, last_error = :message
                where id = :id"""),
        {
            "id": source_id,
            "now": now,
            "failures": state.failures,
            "circuit": state.circuit,
            **_planned(plan),
            "code": error.error_code,
            "message": error.message,
        },
    )


async def set_paused(connection: AsyncConnection, source_id: str, now: datetime | None, reason: str) -> None:
    await connection.execute(
        text("update source set paused_at = :now, paused_reason = nullif(:reason, '') where id = :id"),
        {"id": source_id, "now": now, "reason": reason},
    )


async def note_sweep_miss(connection: AsyncConnection, source_id: str, now: datetime) -> None:
    await connection.execute(
        text("update source set sweep_missed_at = :now where id = :id"), {"id": source_id, "now": now}
    )


async def pin_cadence(connection: AsyncConnection, source_id: str, pinned: Cadence | None) -> None:
    await connection.execute(
        text("""update source set pinned_cadence = :pinned, cadence = coalesce(:pinned, cadence)
                where id = :id"""),
        {"id": source_id, "pinned": pinned},
    )


async def set_next_check(connection: AsyncConnection, source_id: str, plan: Plan) -> None:
    await connection.execute(
        text("""update source set cadence = :cadence, next_check_at = :next_check_at,
                  next_check_reason = :reason where id = :id"""),
        {"id": source_id, **_planned(plan)},
    )


async def remove(connection: AsyncConnection, source_id: str, now: datetime) -> None:
    await connection.execute(
        text("update source set removed_at = :now where id = :id"), {"id": source_id, "now": now}
    )


async def active_ids(connection: AsyncConnection) -> list[str]:
    rows = await connection.execute(text("select id from source where removed_at is null order by id"))
    return list(rows.scalars())


async def listing(connection: AsyncConnection, source_id: str | None = None) -> list[dict[str, Any]]:
    """Sources as people see them."""
    rows = await connection.execute(
        text("""select source.id, source.series_id, source.site, source.site_key, source.url, source.title,
                  source.languages, source.cadence, source.pinned_cadence, source.circuit,
                  source.failure_count, source.last_error_code, source.last_error, source.note, source.losses,
                  source.last_checked_at,
                  source.last_success_at, source.last_new_at, source.next_check_at, source.next_check_reason,
                  source.first_synced_at,
                  source.complete_listing_at, source.paused_at, source.paused_reason, source.created_at,
                  series.title as series_title, series.latest_chapter,
                  (select count(*) from chapter_source where source_id = source.id) as chapters,
                  case when source.series_id is null
                       then (select count(*) from feed_item where source_id = source.id) end as items
                from source left join series on series.id = source.series_id
                where source.removed_at is null and (cast(:id as text) is null or source.id = :id)
                order by source.created_at, source.id"""),
        {"id": source_id},
    )
    return [dict(row) for row in rows.mappings()]


async def find_series(connection: AsyncConnection, wanted: str) -> list[tuple[str, str]]:
    """Series by id, by the id of one of its sources, by title, or by part of a title: (id, title)."""
    for condition in (
        "id = :wanted or id = (select series_id from source where source.id = :wanted)",
        "lower(title) = lower(:wanted)",
        "position(lower(:wanted) in lower(title)) > 0",
    ):
        rows = await connection.execute(
            text(f"select id, title from series where {condition} order by title limit 20"),
            {"wanted": wanted},
        )
        if found := [(series_id, title) for series_id, title in rows]:
            return found
    return []
