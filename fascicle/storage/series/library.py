"""Users, their wishes, and the series that they follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fascicle.domain.names import new_id
from fascicle.storage.series.reader_wishes import IS_READ, WANTED_LANGUAGES
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

USER_WISHES = ("mode", "languages", "time_zone", "digest_hour", "daily_cap", "email")
ENTRY_WISHES = ("mode", "languages", "preferred_source")


@dataclass(frozen=True)
class Brought:
    """The sites, sources and languages in which a series comes."""

    numbering_restarts: bool
    sites: list[str]
    sources: list[str]
    languages: list[str]
    any_language: bool


async def add_user(connection: AsyncConnection, name: str) -> tuple[str, bool]:
    """The user's id, and whether this call created it."""
    created = await connection.scalar(
        text(
            "insert into app_user (id, name) values (:id, :name) on conflict (name) do nothing returning id"
        ),
        {"id": new_id(), "name": name},
    )
    if created is not None:
        return str(created), True
    return str(await connection.scalar(text("select id from app_user where name = :n"), {"n": name})), False


async def find_user(connection: AsyncConnection, wanted: str) -> str | None:
    """A user's id by name or id."""
    found = await connection.scalar(
        text("select id from app_user where :wanted in (name, id) order by name = :wanted desc limit 1"),
        {"wanted": wanted},
    )
    return None if found is None else str(found)


async def has_channel(connection: AsyncConnection, user: str) -> bool:
    found = await connection.scalar(
        text("""select exists (select 1 from channel c join app_user u on u.id = c.user_id
                               where :user in (u.name, u.id))"""),
        {"user": user},
    )
    return bool(found)


async def follow(connection: AsyncConnection, user_id: str, series_id: str) -> bool:
    """True when the user did not follow the series before."""
    created = await connection.scalar(
        text("""insert into library_entry (user_id, series_id) values (:user_id, :series_id)
                on conflict (user_id, series_id) do nothing returning 1"""),
        {"user_id": user_id, "series_id": series_id},
    )
    return created is not None


async def set_wishes(connection: AsyncConnection, user_id: str, wishes: Mapping[str, Any]) -> None:
    """Change a person's wishes; only the given columns."""
    columns = [name for name in USER_WISHES if name in wishes]
    if columns:
        assignments = ", ".join(f"{name} = :{name}" for name in columns)
        if "time_zone" in columns:
            assignments += ", time_zone_chosen = true"
        await connection.execute(
            text(f"update app_user set {assignments} where id = :id"),
            {"id": user_id, **{name: wishes[name] for name in columns}},
        )


async def set_entry(
    connection: AsyncConnection, user_id: str, series_id: str, wishes: Mapping[str, Any]
) -> bool:
    """Change a person's wishes for one series. False: they do not follow it."""
    columns = [name for name in ENTRY_WISHES if name in wishes]
    assignments = ", ".join(["user_id = user_id", *(f"{name} = :{name}" for name in columns)])
    result = await connection.execute(
        text(f"update library_entry set {assignments} where user_id = :user_id and series_id = :series_id"),
        {"user_id": user_id, "series_id": series_id, **{name: wishes[name] for name in columns}},
    )
    return result.rowcount > 0


async def mark_read(
    connection: AsyncConnection, user_id: str, series_id: str, number: Decimal | None, volume: Decimal | None
) -> bool:
    """Mark everything up to there as read; None: nothing is read. False: they do not follow the series."""
    result = await connection.execute(
        text("""update library_entry set read_number = :number, read_volume = :volume
                where user_id = :user_id and series_id = :series_id"""),
        {"user_id": user_id, "series_id": series_id, "number": number, "volume": volume},
    )
    return result.rowcount > 0


async def brought(connection: AsyncConnection, series_id: str) -> Brought:
    rows = list(
        await connection.execute(
            text("select site, id, languages from source where series_id = :id and removed_at is null"),
            {"id": series_id},
        )
    )
    restarts = await connection.scalar(
        text("select numbering_restarts from series where id = :id"), {"id": series_id}
    )
    return Brought(
        numbering_restarts=bool(restarts),
        sites=sorted({site for site, _, _ in rows}),
        sources=[source_id for _, source_id, _ in rows],
        languages=sorted({language for _, _, languages in rows for language in languages}),
        any_language=any(not languages for _, _, languages in rows),
    )


async def is_time_zone(connection: AsyncConnection, name: str) -> bool:
    """True if the database knows this time zone: the database calculates with it."""
    found = await connection.scalar(
        text("select 1 from pg_timezone_names where name = :name"), {"name": name}
    )
    return found is not None


async def entries(connection: AsyncConnection, user_id: str) -> list[dict[str, Any]]:
    """The series that a person follows, with their wishes and how far they have read."""
    rows = await connection.execute(
        text(f"""select series.id as series_id, series.title as series, series.latest_chapter,
                  e.read_number, e.read_volume, coalesce(e.mode, u.mode) as mode,
                  {WANTED_LANGUAGES} as languages, e.preferred_source,
                  (select count(*) from logical_chapter c where c.series_id = series.id
                     and not {IS_READ}) as unread
                from library_entry e join series on series.id = e.series_id
                join app_user u on u.id = e.user_id
                where e.user_id = :user_id order by series.title"""),
        {"user_id": user_id},
    )
    return [dict(row) for row in rows.mappings()]


async def unfollow(connection: AsyncConnection, user_id: str, series_id: str) -> bool:
    result = await connection.execute(
        text("delete from library_entry where user_id = :user_id and series_id = :series_id"),
        {"user_id": user_id, "series_id": series_id},
    )
    return result.rowcount > 0


async def users(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select u.id, u.name, u.mode, u.languages, u.time_zone, u.digest_hour, u.daily_cap,
                  u.email, u.created_at,
                  (select count(*) from library_entry e where e.user_id = u.id) as follows,
                  coalesce((select array_agg(kind order by id) from channel c where c.user_id = u.id), '{}')
                  as channels
                from app_user u order by u.name""")
    )
    return [dict(row) for row in rows.mappings()]
