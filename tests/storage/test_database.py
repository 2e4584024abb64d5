"""The schema and the database's absence."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.storage import database
from fascicle.storage.database import (
    asyncpg_url,
    check_schema,
    newest_version,
    open_engine,
    ping,
    schema_versions,
    transaction,
    upgrade,
)
from fascicle.storage.database_url import parse_database_url

_OPEN_CONNECTIONS = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'fascicle'"""


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    yield opened
    await opened.dispose()


async def test_upgrades_at_the_same_time_do_not_disturb_each_other(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await connection.execute(text("drop schema public cascade"))
        await connection.execute(text("create schema public"))
    await asyncio.gather(*(upgrade(engine) for _ in range(4)))
    there, wanted = await schema_versions(engine)
    assert there == wanted


@pytest.mark.parametrize(
    ("version", "code", "words"),
    [
        ("9999", "database_newer", "newer than this version of Fascicle"),
        ("0008", "database_older", "run `fascicle db upgrade` of an earlier version first"),
        ("2f1a9c0d7e55", "database_foreign", "another program"),
    ],
)
@pytest.mark.parametrize("look", [upgrade, check_schema])
async def test_x7_a_schema_that_this_version_does_not_know_is_refused_and_left_alone(
    engine: AsyncEngine, look: Callable[[AsyncEngine], Awaitable[object]], version: str, code: str, words: str
) -> None:
    async with transaction(engine) as connection:
        await connection.execute(text("update alembic_version set version_num = :v"), {"v": version})
    with pytest.raises(PermanentError, match=words) as refused:
        await look(engine)
    assert refused.value.code == code
    assert (await schema_versions(engine))[0] == version


async def test_what_a_burst_leaves_open_the_server_may_close(engine: AsyncEngine) -> None:
    """As the embedded PostgreSQL does after a minute: one connection stays in use, the next burst works."""

    async def one_of_a_burst(start: asyncio.Barrier) -> None:
        async with transaction(engine) as connection:
            await connection.execute(text("set idle_session_timeout = '300ms'"))
            await start.wait()

    for _ in range(2):
        start = asyncio.Barrier(8)
        await asyncio.gather(*(one_of_a_burst(start) for _ in range(8)))
        for _ in range(10):
            await ping(engine)
            await asyncio.sleep(0.1)
        async with transaction(engine) as connection:
            assert await connection.scalar(text(_OPEN_CONNECTIONS)) == 1


async def test_c9_a_database_that_is_down_is_retryable() -> None:
    engine = open_engine("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(RetryableError) as down:
        await ping(engine)
    assert down.value.code == "database_down"
    await engine.dispose()


async def test_c9_a_connection_cut_in_mid_query_is_retryable(engine: AsyncEngine) -> None:
    with pytest.raises(RetryableError) as cut:
        async with transaction(engine) as connection:
            await connection.execute(text("select pg_terminate_backend(pg_backend_pid())"))
    assert cut.value.code == "database_down"
    await ping(engine)


@pytest.mark.parametrize("url", ["postgres://u@h/d", "postgresql://u@h/d", "postgresql+asyncpg://u@h/d"])
def test_the_usual_spellings_of_a_database_url_are_taken(url: str) -> None:
    assert str(asyncpg_url(url)) == "postgresql+asyncpg://u@h/d"


def test_a_hosted_databases_sslmode_is_understood() -> None:
    assert asyncpg_url("postgres://u@h/d?sslmode=require").query == {"ssl": "require"}


@pytest.mark.parametrize(
    "url", ["mysql://u@h/d", "postgresqlfoo://u@h/d", "postgresql://u@h:port/d", "x", ""]
)
def test_x7_other_urls_are_not(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        asyncpg_url(url)


def test_the_newest_version_is_the_one_that_upgrades_lead_to() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    assert newest_version() == ScriptDirectory.from_config(config).get_current_head()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://postgres@/fascicle?host=/run/a/socket&port=5432",
        "postgresql://u:secret@h:5433/db",
        "postgres://u:p%40x@[::1]:5433/d?sslmode=require&password=secret",
        "postgresql://:secret@h/d",
        "postgresql://h",
    ],
)
def test_x7_a_url_is_shown_as_sqlalchemy_would_show_it(url: str) -> None:
    theirs = make_url(url)
    masked = {key: "…" if "pass" in key else value for key, value in theirs.query.items()}
    shown = parse_database_url(url).masked("…")
    assert shown == theirs.set(query=masked).render_as_string(hide_password=True)
    assert "secret" not in shown


async def test_a_connection_that_the_server_closed_is_replaced_unnoticed(
    engine: AsyncEngine, database_url: str
) -> None:
    async with transaction(engine) as connection:
        used: Any = (await connection.get_raw_connection()).driver_connection
    other = open_engine(database_url)
    async with transaction(other) as connection:
        await connection.execute(
            text("""select pg_terminate_backend(:pid)"""), {"pid": used.get_server_pid()}
        )
    await other.dispose()
    async with asyncio.timeout(10):
        while not used.is_closed():  # the driver reads the server's farewell when the loop turns
            await asyncio.sleep(0.01)
    await ping(engine)


@pytest.mark.parametrize(("idle_seconds", "pings"), [(3600.0, 0), (0.0, 1)])
async def test_only_a_connection_that_was_idle_is_asked_whether_it_lives(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch, idle_seconds: float, pings: int
) -> None:
    await ping(engine)
    dialect, asked = engine.sync_engine.dialect, []
    real = dialect.do_ping

    def counted(connection: Any) -> bool:
        asked.append(connection)
        return real(connection)

    monkeypatch.setattr(dialect, "do_ping", counted)
    monkeypatch.setattr(database, "_PING_AFTER_SECONDS", idle_seconds)
    await ping(engine)
    assert len(asked) == pings


async def test_a_single_statement_has_no_transaction_around_it(engine: AsyncEngine) -> None:
    began = text("select now()")  # the time of the transaction's beginning
    async with database.statement(engine) as connection:
        assert await connection.scalar(began) != await connection.scalar(began)
    async with transaction(engine) as connection:
        assert await connection.scalar(began) == await connection.scalar(began)
