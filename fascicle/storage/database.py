"""The engine, the schema's version, and what to say when the database cannot be reached."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.storage.database_url import parse_database_url
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_MIGRATIONS = Path(__file__).parent / "migrations"
# Any constant will do: it keeps two processes from migrating at the same time.
_MIGRATION_LOCK = 7_203_114


# A restore creates this table in its own transaction; while it exists, `check_schema` refuses the database.
_UNDOUBTED = "restored_undoubted"
MARK_AS_UNDOUBTED = f"create table if not exists public.{_UNDOUBTED} ();"


_USED_AT = "fascicle_used_at"
# The driver already knows whether the server has closed a connection that was used recently.
_PING_AFTER_SECONDS = 30.0


def open_engine(url: str, *, pool_size: int = 10) -> AsyncEngine:
    from sqlalchemy.ext.asyncio import create_async_engine

    engine = create_async_engine(
        asyncpg_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        # The connection returned last is used first: those opened for a burst stay idle, and may be closed.
        pool_use_lifo=True,
        # Statements' values may be secrets, and errors go to logs, histories and traces.
        hide_parameters=True,
        connect_args={
            "timeout": 10,
            "command_timeout": 60,
            "server_settings": {"application_name": "fascicle", "timezone": "UTC"},
        },
    )
    _replace_dead_connections(engine)
    return engine


def _replace_dead_connections(engine: AsyncEngine) -> None:
    """SQLAlchemy's pre-ping costs three round trips per transaction; ping only connections that were idle."""
    from sqlalchemy import event
    from sqlalchemy.exc import DisconnectionError, InvalidatePoolError

    pool, dialect = engine.sync_engine.pool, engine.sync_engine.dialect

    def note_use(_connection: Any, record: Any) -> None:
        record.info[_USED_AT] = time.monotonic()

    def check(connection: Any, record: Any, _proxy: Any) -> None:
        if connection.driver_connection.is_closed():
            raise DisconnectionError
        if time.monotonic() - record.info.get(_USED_AT, time.monotonic()) < _PING_AFTER_SECONDS:
            return
        try:
            dialect.do_ping(connection)
        except (OSError, TimeoutError, dialect.loaded_dbapi.Error) as error:
            raise InvalidatePoolError from error

    event.listen(pool, "checkin", note_use)
    event.listen(pool, "checkout", check)


def open_reading_engine(url: str) -> AsyncEngine:
    """For a command that only reads: without SQLAlchemy, unless the URL has options that only it knows."""
    from fascicle.storage.plain_engine import PlainEngine, can_read_plainly

    parsed = parse_database_url(url)
    if not can_read_plainly(parsed):
        return open_engine(url, pool_size=1)
    return cast("AsyncEngine", PlainEngine(parsed))


def asyncpg_url(text: str) -> URL:
    """Accept the usual spellings of a PostgreSQL URL; a ValueError for anything else."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    parse_database_url(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise ValueError("not a database URL") from error
    query = dict(url.query)
    if "sslmode" in query:  # libpq's word for it; asyncpg takes the same values as `ssl`
        query["ssl"] = query.pop("sslmode")
    return url.set(drivername="postgresql+asyncpg", query=query)


@asynccontextmanager
async def database_errors() -> AsyncIterator[None]:
    """Raise a lost database as retryable and refused data as permanent; any other error is our bug."""
    try:
        yield
    except (OSError, TimeoutError) as error:
        raise _did_not_answer(error) from error
    except Exception as error:
        told = _from_sqlalchemy(error) or _from_asyncpg(error)
        if told is None:
            raise
        raise told from error


def _from_sqlalchemy(error: Exception) -> FascicleError | None:
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
    from sqlalchemy.exc import TimeoutError as PoolTimeoutError

    if isinstance(error, PoolTimeoutError | InterfaceError | OperationalError):
        return _did_not_answer(error)
    if isinstance(error, DBAPIError):
        sqlstate = str(getattr(error.orig, "sqlstate", "") or "")
        return _in_our_words(error, sqlstate, is_lost=error.connection_invalidated)
    return None


def _from_asyncpg(error: Exception) -> FascicleError | None:
    """Errors of a command that reads without SQLAlchemy."""
    if "asyncpg" not in sys.modules:
        return None
    from asyncpg import InterfaceError, PostgresError

    if isinstance(error, InterfaceError):
        return _did_not_answer(error)
    if isinstance(error, PostgresError):
        return _in_our_words(error, str(error.sqlstate or ""), is_lost=False)
    return None


def refused_by_database(error: Exception) -> BaseException | None:
    """PostgreSQL's own error; None if the error came from elsewhere."""
    if "sqlalchemy" in sys.modules:
        from sqlalchemy.exc import DBAPIError

        if isinstance(error, DBAPIError):
            return error.orig
    if "asyncpg" in sys.modules:
        from asyncpg import PostgresError

        return error if isinstance(error, PostgresError) else None
    return None


def _did_not_answer(error: BaseException) -> FascicleError:
    return RetryableError("database_down", f"The database did not answer: {_short(error)}")


def _in_our_words(error: Exception, sqlstate: str, *, is_lost: bool) -> FascicleError | None:
    # 08 connection, 53 resources, 57 operator intervention, 40 serialisation and deadlock.
    if is_lost or sqlstate[:2] in ("08", "53", "57", "40"):
        return RetryableError("database_down", f"The database broke off: {_short(error)}")
    # 28 wrong credentials, 3D no such database.
    if sqlstate[:2] in ("28", "3D"):
        return PermanentError("database_refused", f"The database refused us: {_short(error)}")
    # 22 impossible data, 23 a broken constraint: the same row will be refused again.
    if sqlstate[:2] in ("22", "23"):
        return PermanentError("invalid_data", f"The database refused it: {_short(error)}")
    return None


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    async with database_errors(), engine.begin() as connection:
        yield connection


@asynccontextmanager
async def statement(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """Each statement is its own transaction, which saves the round trips for begin and commit."""
    async with database_errors(), engine.connect() as connection:
        yield await connection.execution_options(isolation_level="AUTOCOMMIT")


async def ping(engine: AsyncEngine) -> None:
    async with statement(engine) as connection:
        await connection.execute(text("select 1"))


async def upgrade(engine: AsyncEngine) -> None:
    """Bring the schema to this code's version. Safe to call from several processes at once.

    A schema that this code does not know is refused and left as it is.
    """
    async with database_errors(), engine.connect() as connection:
        await connection.execute(text("select pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
        await connection.commit()
        try:
            await asyncio.to_thread(check_is_known, await _version(connection))
            await connection.commit()
            await connection.run_sync(_upgrade)
            await connection.commit()
        finally:
            await connection.execute(text("select pg_advisory_unlock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.commit()


async def schema_versions(engine: AsyncEngine) -> tuple[str | None, str | None]:
    """The database's version and the code's."""
    async with database_errors(), engine.connect() as connection:
        version = await _version(connection)
    return version, await asyncio.to_thread(newest_version)


async def check_schema(engine: AsyncEngine) -> str:
    """The schema's version, if it is this code's; else an error that says what to do."""
    there, wanted = await schema_versions(engine)
    await asyncio.to_thread(check_is_known, there)
    if there is None or there != wanted:
        raise PermanentError(
            "schema_mismatch",
            f"The database has schema {there or 'none'}, not {wanted}: run `fascicle db upgrade`.",
        )
    async with database_errors(), engine.connect() as connection:
        if await connection.scalar(text("select to_regclass(:mark)"), {"mark": f"public.{_UNDOUBTED}"}):
            raise PermanentError(
                "restored",
                "The database was restored, and nobody has looked yet at what may have happened since the "
                "backup: run `fascicle db restored`, then start again.",
            )
    return there


async def settle_doubts(connection: AsyncConnection) -> None:
    """Drop the mark of a restore: lost events are accounted for, and workers may start."""
    await connection.execute(text(f"drop table if exists public.{_UNDOUBTED}"))


async def _version(connection: AsyncConnection) -> str | None:
    if not await connection.scalar(text("select to_regclass('alembic_version')")):
        return None
    version: str | None = await connection.scalar(text("select version_num from alembic_version"))
    return version


def check_is_known(version: str | None) -> None:
    """Raise an error for a schema that our migrations cannot upgrade."""
    if version is None or version in known_versions():
        return
    if version.isdecimal() and version > (newest := newest_version()):
        raise PermanentError(
            "database_newer",
            f"The database is newer than this version of Fascicle (schema {version}, not {newest}): "
            "run the newer version, or restore a backup made by this one.",
        )
    if version.isdecimal() and version < (oldest := min(known_versions())):
        raise PermanentError(
            "database_older",
            f"The database has schema {version}, and this version upgrades from {oldest} on: "
            "run `fascicle db upgrade` of an earlier version first.",
        )
    raise PermanentError(
        "database_foreign",
        f"The database belongs to another program (its schema is {version!r}): give Fascicle one of its own.",
    )


def newest_version() -> str:
    """Migrations are numbered: the file with the highest number is the last."""
    return max(known_versions())


def known_versions() -> set[str]:
    """The versions of all schemas that this code can upgrade."""
    return {path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py")}


def _upgrade(connection: Connection) -> None:
    # Alembic takes a quarter of a second to load, and only a migration needs it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _short(error: BaseException) -> str:
    original = getattr(error, "orig", None) or error
    return (str(original) or type(original).__name__).splitlines()[0][:300]
