"""PostgreSQL's own programs on a real database: all or nothing, and errors that say what to do."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import FascicleError, PermanentError, UsageError
from fascicle.embedded.postgres import programs
from fascicle.services.operations.postgres_programs import PostgresPrograms, libpq_environment
from fascicle.storage.database import newest_version, open_engine, schema_versions, transaction
from simulator.server import RunningSimulator
from starter.operations.backup import bring_back, check_is_ours, dump
from starter.operations.database_places import Place, database_alone
from tests.harness import settings_for


@pytest.fixture
async def place(database_url: str) -> AsyncIterator[Place]:
    engine = open_engine(database_url, pool_size=1)
    yield Place(engine, PostgresPrograms(database_url, programs()), "the test's", is_embedded=True)
    await engine.dispose()


async def add_users(engine: AsyncEngine, *names: str) -> None:
    async with transaction(engine) as connection:
        for name in names:
            await connection.execute(text("insert into app_user (id, name) values (:n, :n)"), {"n": name})


async def users(engine: AsyncEngine) -> list[str]:
    async with transaction(engine) as connection:
        return list(await connection.scalars(text("select name from app_user order by name")))


async def test_x1_what_is_replaced_is_replaced_whole_or_not_at_all(place: Place, tmp_path: Path) -> None:
    await add_users(place.engine, *(f"old{n:04}" for n in range(300)))
    file = tmp_path / "whole"
    assert (await dump(place, file)).rows["users"] == 300
    async with transaction(place.engine) as connection:
        await connection.execute(text("delete from app_user"))
        await connection.execute(text("create table of_a_newer_version (id int)"))
    await add_users(place.engine, "new")

    with pytest.raises(UsageError, match="not empty"):
        await bring_back(place, file, replace=False)
    broken = tmp_path / "broken"
    broken.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(FascicleError, match="Nothing was changed"):
        await bring_back(place, broken, replace=True)
    assert await users(place.engine) == ["new"]

    await bring_back(place, file, replace=True)
    assert len(await users(place.engine)) == 300
    assert await schema_versions(place.engine) == (newest_version(), newest_version())
    async with transaction(place.engine) as connection:
        assert await connection.scalar(text("select to_regclass('of_a_newer_version')")) is None
    await dump(place, tmp_path / "again")
    await bring_back(place, tmp_path / "again", replace=True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("update alembic_version set version_num = '9999'", "newer Fascicle .schema 9999"),
        ("update alembic_version set version_num = '0008'", "schema 0008, which this version can no longer"),
        (
            "update alembic_version set version_num = '0003f2a91b7c'",
            "another program's database .schema '0003f2a91b7c'",
        ),
        ("drop table alembic_version", "another database"),
        ("drop table logical_chapter cascade", "another database"),
    ],
)
async def test_x7_dumps_of_newer_and_older_versions_and_of_others_are_refused(
    place: Place, tmp_path: Path, change: str, said: str
) -> None:
    file = tmp_path / "dump"
    async with transaction(place.engine) as connection:
        await connection.execute(text(change))
    async with transaction(place.engine) as connection:
        snapshot = await connection.scalar(text("select pg_export_snapshot()"))
        await place.programs.dump(file, snapshot=str(snapshot))
    with pytest.raises(UsageError, match=said):
        await check_is_ours(place.programs, file)


async def test_x7_a_refusal_names_its_cause_and_no_list_of_tables(place: Place, tmp_path: Path) -> None:
    async with transaction(place.engine) as connection:
        await connection.execute(text("create schema aside"))
    await dump(place, tmp_path / "dump")
    with pytest.raises(PermanentError, match=r'refused \S+: ERROR: +schema "aside" already exists'):
        await bring_back(place, tmp_path / "dump", replace=True)
    async with transaction(place.engine) as connection:
        await connection.execute(text("drop schema aside"))


async def test_x7_another_programs_database_is_not_backed_up(place: Place, tmp_path: Path) -> None:
    async with transaction(place.engine) as connection:
        await connection.execute(text("drop table logical_chapter cascade"))
    with pytest.raises(UsageError, match="no tables of ours"):
        await dump(place, tmp_path / "dump")


async def test_x7_others_who_are_connected_are_named(database_url: str, simulator: RunningSimulator) -> None:
    settings = settings_for(database_url, simulator)
    engine = open_engine(database_url)
    async with engine.connect() as connection:
        await connection.execute(text("select 1"))
        with pytest.raises(UsageError, match=r"fascicle \(1\)"):
            async with database_alone(settings, others_may_look=True):
                pass
    await engine.dispose()
    async with database_alone(settings, others_may_look=True) as alone:
        assert not alone.is_embedded
    with pytest.raises(UsageError, match="Stop the workers"):  # the one who wipes it between tests
        async with database_alone(settings):
            pass


@pytest.mark.parametrize(
    ("said", "match"),
    [("pg_dump (PostgreSQL) 12.1", "version 12, the server is PostgreSQL 18"), ("hi", "no PostgreSQL")],
)
async def test_x7_programs_older_than_the_server_are_refused(tmp_path: Path, said: str, match: str) -> None:
    program = tmp_path / "pg_dump"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    old = PostgresPrograms("postgresql://u@h/d", tmp_path)
    with pytest.raises(PermanentError, match=match):
        await old.check_versions(18, "pg_dump")
    with pytest.raises(PermanentError, match="no pg_restore"):
        await old.check_versions(18, "pg_restore")


def test_x5_an_address_goes_into_the_environment() -> None:
    assert libpq_environment("postgres://ann:p%40ss@db:5433/books?sslmode=require") == {
        "PGHOST": "db", "PGPORT": "5433", "PGUSER": "ann", "PGPASSWORD": "p@ss", "PGDATABASE": "books",
        "PGSSLMODE": "require",
    }  # fmt: skip
    socket = libpq_environment("postgresql+asyncpg://postgres@/books?host=/tmp/x&port=5432")
    assert socket == {"PGHOST": "/tmp/x", "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "books"}
