"""The contents and the other users of a database, checked before it is dumped or replaced."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.errors import UsageError

OURS = "fascicle"
# The counts that people can compare with what they know of their data.
_COUNTED = {
    "sources": "source",
    "chapters": "logical_chapter",
    "users": "app_user",
    "items": "item",
    "fics": "fic",
    "posts": "post",
    "requests": "request",
}


@dataclass(frozen=True)
class Contents:
    schema: str
    rows: dict[str, int]
    snapshot: str
    """For pg_dump; valid until the transaction ends."""


async def contents(connection: AsyncConnection) -> Contents:
    """Call this in a new transaction that stays open until the dump is done."""
    await connection.execution_options(isolation_level="REPEATABLE READ")
    await connection.execute(text("set local idle_in_transaction_session_timeout = 0"))
    # Other programs use Alembic too; only ours has `logical_chapter`.
    tables = "select to_regclass('alembic_version') is null or to_regclass('logical_chapter') is null"
    if await connection.scalar(text(tables)):
        raise UsageError("no_schema", "The database has no tables of ours: there is nothing to back up.")
    version = await connection.scalar(text("select version_num from alembic_version"))
    snapshot = await connection.scalar(text("select pg_export_snapshot()"))
    return Contents(str(version), await count_rows(connection), str(snapshot))


async def count_rows(connection: AsyncConnection) -> dict[str, int]:
    """An older schema may lack some of the tables; those are left out."""
    counts = {}
    for name, table in _COUNTED.items():
        if await connection.scalar(text("select to_regclass(:table)"), {"table": table}) is not None:
            counts[name] = int(await connection.scalar(text(f"select count(*) from {table}")) or 0)
    return counts


async def server_version(connection: AsyncConnection) -> int:
    """The major version."""
    return int(str(await connection.scalar(text("show server_version_num")))) // 10_000


async def is_empty(connection: AsyncConnection) -> bool:
    tables = await connection.scalar(
        text("select count(*) from pg_class where relnamespace = to_regnamespace('public')")
    )
    return not tables


async def others_connected(connection: AsyncConnection) -> dict[str, int]:
    """The number of other sessions with this database, by program."""
    rows = await connection.execute(
        text("""select coalesce(nullif(application_name, ''), usename, 'unknown'), count(*)
                from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                  and coalesce(backend_type, 'client backend') = 'client backend'
                group by 1 order by 1""")
    )
    return {str(who): int(count) for who, count in rows}
