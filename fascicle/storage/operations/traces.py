"""Remove old values that PostgreSQL still keeps: in table pages until a rewrite, and in its log files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# A comment on the column, committed with the change that leaves traces: a later process can then continue.
_MARK = "comment on column channel.url is 'clear addresses may be left in pages and logs'"
_UNMARK = "comment on column channel.url is null"
_IS_MARKED = """select col_description(attrelid, attnum) is not null from pg_attribute
where attrelid = 'channel'::regclass and attname = 'url'"""


async def mark_channels(connection: AsyncConnection) -> None:
    await connection.execute(text(_MARK))


async def unmark_channels(connection: AsyncConnection) -> None:
    await connection.execute(text(_UNMARK))


async def channels_are_marked(connection: AsyncConnection) -> bool:
    return bool(await connection.scalar(text(_IS_MARKED)))


async def rewrite_channels(connection: AsyncConnection) -> None:
    """Call this outside of transactions. Others wait meanwhile; if they hold a lock too long, it fails."""
    await connection.execute(text("set lock_timeout = '10s'"))
    try:
        await connection.execute(text("vacuum full channel"))
    finally:
        await connection.execute(text("reset lock_timeout"))


async def rewrite_server(connection: AsyncConnection) -> None:
    """Rewrite the planner's statistics and replace every log file: files kept for reuse hold old data."""
    await connection.execute(text("vacuum full pg_statistic"))
    await connection.execute(text("alter system set wal_recycle = off"))
    await connection.execute(text("select pg_reload_conf()"))
    files = await connection.scalar(text("select count(*) from pg_ls_waldir()"))
    for _ in range(int(files or 0) + 1):
        await connection.execute(text("checkpoint"))
        await connection.execute(text("select pg_switch_wal()"))
    await connection.execute(text("checkpoint"))
    await connection.execute(text("alter system reset wal_recycle"))
    await connection.execute(text("select pg_reload_conf()"))
