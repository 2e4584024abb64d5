"""Channels' addresses at rest (X5): sealed for their owner, told apart all the same, no trace in clear."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.embedded import DataFolder, EmbeddedPostgres, Supervisor
from fascicle.services.notifications.channel_sealing import (
    remove_traces,
    rotate_channel,
    seal_channels,
    warn_of_missing_keys,
)
from fascicle.storage import database
from fascicle.storage.database import open_engine, transaction, upgrade
from fascicle.storage.notifications import channel as channels
from fascicle.storage.notifications.channel import StoredAddress, add_channel, of_purpose, set_purpose
from fascicle.storage.operations.keyring import new_key
from fascicle.storage.operations.vault import key_id_of
from tests.vaults import TOKEN_KEY, a_vault

URL = "json://hooks.example/s3cret-token"
ANOTHER = "json://hooks.example/s3cret-token-of-another"


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    async with transaction(opened) as connection:
        await connection.execute(text("insert into app_user (id, name) values ('u1', 'ann'), ('u2', 'bob')"))
    yield opened
    await opened.dispose()


async def _add(engine: AsyncEngine, url: str, *, keys: str | None = TOKEN_KEY, user: str = "u1") -> bool:
    async with transaction(engine) as connection:
        return await add_channel(connection, a_vault(keys), user, url)


async def _stored(engine: AsyncEngine) -> list[str]:
    async with transaction(engine) as connection:
        return [
            str(url)
            for url in (await connection.execute(text("select url from channel order by id"))).scalars()
        ]


async def test_x5_an_address_is_stored_once_and_sealed_for_its_owner(engine: AsyncEngine) -> None:
    assert [await _add(engine, URL), await _add(engine, URL), await _add(engine, ANOTHER)] == [
        True,
        False,
        True,
    ]
    assert await _add(engine, URL, user="u2")
    stored = await _stored(engine)
    assert len(set(stored)) == 3
    assert "s3cret" not in "".join(stored)
    assert await StoredAddress("u1", stored[0]).opened(a_vault()) == URL
    assert "s3cret" not in repr(StoredAddress("u1", URL))
    with pytest.raises(PermanentError, match="address of u2 cannot be decrypted"):
        await StoredAddress("u2", stored[0]).opened(a_vault())


async def test_x5_two_who_add_the_same_at_once_add_one(engine: AsyncEngine) -> None:
    added = await asyncio.gather(*(_add(engine, URL) for _ in range(6)))
    assert sorted(added) == [False] * 5 + [True]
    assert len(await _stored(engine)) == 1


async def test_x5_the_community_s_channel_is_sealed_too(engine: AsyncEngine) -> None:
    async with transaction(engine) as connection:
        await set_purpose(connection, a_vault(), "fics", URL)
        await set_purpose(connection, a_vault(), "fics", ANOTHER)
        assert await of_purpose(connection, a_vault(), "fics") == ANOTHER
    assert "s3cret" not in "".join(await _stored(engine))
    async with transaction(engine) as connection:
        await set_purpose(connection, a_vault(), "fics", None)
        assert await of_purpose(connection, a_vault(), "fics") is None


async def test_x5_where_others_have_a_key_none_is_made(engine: AsyncEngine, tmp_path: Path) -> None:
    await _add(engine, URL)
    made = tmp_path / "token-keys"
    with pytest.raises(UsageError, match="FASCICLE_TOKEN_KEYS") as refused:
        async with transaction(engine) as connection:
            await add_channel(connection, a_vault(None, made), "u1", ANOTHER)
    assert refused.value.code == "no_key"
    assert not made.exists()
    assert len(await _stored(engine)) == 1


async def test_x5_what_an_earlier_version_stored_is_readable_and_sealed_once_there_is_a_key(
    engine: AsyncEngine, tmp_path: Path
) -> None:
    async with transaction(engine) as connection:
        await connection.execute(
            text("""insert into channel (user_id, purpose, kind, url) values
                    ('u1', null, 'json', :url), (null, 'fics', 'json', :another)"""),
            {"url": URL, "another": ANOTHER},
        )
    without = a_vault(None, tmp_path / "token-keys")
    assert await seal_channels(engine, without) == 0
    assert await StoredAddress("u1", (await _stored(engine))[0]).opened(without) == URL
    assert not await _add(engine, URL)
    assert await seal_channels(engine, without, make_key=True) == 2
    assert "s3cret" not in "".join(await _stored(engine))
    assert await StoredAddress("u1", (await _stored(engine))[0]).opened(without) == URL
    assert await StoredAddress("fics", (await _stored(engine))[1]).opened(without) == ANOTHER
    assert await seal_channels(engine, without) == 0


async def test_x5_after_a_rotation_the_old_key_may_go(engine: AsyncEngine) -> None:
    await _add(engine, URL)
    async with transaction(engine) as connection:
        [channel_id] = await channels.ids(connection)
    new = new_key()
    both = a_vault(f"{new},{TOKEN_KEY}")
    assert (await rotate_channel(engine, a_vault(new), channel_id))[0] == "failed"
    assert await warn_of_missing_keys(engine, a_vault(new)) == {"test"}
    assert (await rotate_channel(engine, both, channel_id))[0] == "rotated"
    assert (await rotate_channel(engine, both, channel_id))[0] == "unchanged"
    assert await warn_of_missing_keys(engine, a_vault(new)) == set()
    [stored] = await _stored(engine)
    assert key_id_of(stored) == new.partition(":")[0]
    assert await StoredAddress("u1", stored).opened(a_vault(new)) == URL
    assert not await _add(engine, URL, keys=new)


async def test_x5_of_an_earlier_version_s_addresses_nothing_is_left_in_the_servers_files(
    tmp_path: Path,
) -> None:
    """Rows, their old versions, an index, the planner's statistics and the log had them."""
    with DataFolder(tmp_path / "data") as folder:
        async with Supervisor(folder.path) as supervisor:
            server = EmbeddedPostgres(folder.path)
            await server.start(supervisor)
            engine = open_engine(server.url)
            try:
                await _make_schema_0009(engine)
                assert _files_with(folder.path, b"s3cret")
                await upgrade(engine)
                assert await seal_channels(engine, a_vault()) == 200
                await remove_traces(engine, own_server=True)
                assert _files_with(folder.path, b"s3cret") == []
                async with transaction(engine) as connection:
                    kinds = await connection.execute(text("select kind, count(*) from channel group by kind"))
                    assert [tuple(row) for row in kinds] == [("json", 200)]
                    assert await connection.scalar(text("show wal_recycle")) == "on"
            finally:
                await engine.dispose()


async def _make_schema_0009(engine: AsyncEngine) -> None:
    def migrate(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(database._MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "0009")

    async with engine.connect() as connection:
        await connection.run_sync(migrate)
        await connection.commit()
    async with transaction(engine) as connection:
        await connection.execute(text("insert into app_user (id, name) values ('u1', 'ann')"))
        await connection.execute(
            text("insert into channel (user_id, url) select 'u1', :url || n from generate_series(1, 200) n"),
            {"url": URL},
        )
        await connection.execute(text("analyze channel"))
    async with transaction(engine) as connection:
        await connection.execute(text("update channel set url = url || '-moved' where id % 2 = 0"))
    async with engine.connect() as connection:
        autocommit = await connection.execution_options(isolation_level="AUTOCOMMIT")
        await autocommit.execute(text("checkpoint"))


def _files_with(folder: Path, secret: bytes) -> list[str]:
    return [str(file) for file in folder.rglob("*") if file.is_file() and secret in file.read_bytes()]
