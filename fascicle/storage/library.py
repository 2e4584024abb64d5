"""Users, the channels they are told through, and what they follow."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.names import new_id


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


async def add_channel(connection: AsyncConnection, user_id: str, url: str) -> bool:
    created = await connection.scalar(
        text("""insert into channel (user_id, url) values (:user_id, :url)
                on conflict (user_id, url) do nothing returning id"""),
        {"user_id": user_id, "url": url},
    )
    return created is not None


async def follow(connection: AsyncConnection, user_id: str, series_id: str) -> bool:
    """True when the user did not follow the series before."""
    created = await connection.scalar(
        text("""insert into library_entry (user_id, series_id) values (:user_id, :series_id)
                on conflict (user_id, series_id) do nothing returning 1"""),
        {"user_id": user_id, "series_id": series_id},
    )
    return created is not None


async def unfollow(connection: AsyncConnection, user_id: str, series_id: str) -> bool:
    result = await connection.execute(
        text("delete from library_entry where user_id = :user_id and series_id = :series_id"),
        {"user_id": user_id, "series_id": series_id},
    )
    return result.rowcount > 0


async def users(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select u.id, u.name, u.created_at,
                  (select count(*) from library_entry e where e.user_id = u.id) as follows,
                  coalesce((select array_agg(url order by id) from channel c where c.user_id = u.id), '{}')
                  as channels
                from app_user u order by u.name""")
    )
    return [dict(row) for row in rows.mappings()]
