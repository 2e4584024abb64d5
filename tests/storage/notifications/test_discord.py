"""Replies on Discord that wait: one for each token, encrypted, edited until they are settled or lost."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import PermanentError
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.notifications import discord
from fascicle.storage.operations.keyring import new_key
from fascicle.storage.operations.vault import Vault

JOB = "ao3-work-5"
TOKEN = SecretStr("aW50ZXJhY3Rpb246")


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    async with transaction(opened) as connection:
        await connection.execute(text("insert into app_user (id, name) values ('u1', 'discord:42')"))
        await connection.execute(
            text("""insert into fic_job (key, site, kind, site_id, url)
                    values (:key, 'ao3', 'work', '5', 'https://ao3.test/works/5')"""),
            {"key": JOB},
        )
    yield opened
    await opened.dispose()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(keys=new_key(), file=None, made_file=tmp_path / "keys")


async def keep(engine: AsyncEngine, vault: Vault, token: SecretStr = TOKEN) -> int:
    async with transaction(engine) as connection:
        return await discord.keep_reply(
            connection,
            vault,
            job_key=JOB,
            user_id="u1",
            application_id="99",
            token=token,
            channel_id="7",
            discord_user_id="42",
            received_at=datetime.now(UTC),
        )


async def test_an_interaction_delivered_twice_is_one_reply(engine: AsyncEngine, vault: Vault) -> None:
    first, again = await asyncio.gather(keep(engine, vault), keep(engine, vault))
    other = await keep(engine, vault, SecretStr("another"))
    assert first == again != other
    async with transaction(engine) as connection:
        await discord.settle_reply(connection, first, "Done")
    assert await keep(engine, vault) == first


async def test_x5_the_token_is_stored_encrypted_and_bound_to_its_row(
    engine: AsyncEngine, vault: Vault, tmp_path: Path
) -> None:
    await keep(engine, vault)
    async with transaction(engine) as connection:
        (reply,) = await discord.open_replies(connection, JOB)
    assert TOKEN.get_secret_value() not in repr(reply)
    assert await discord.token_of(vault, reply) == TOKEN
    assert timedelta(minutes=14) < reply.expires_at - datetime.now(UTC) < timedelta(minutes=15)
    other_vault = Vault(keys=new_key(), file=None, made_file=tmp_path / "keys")
    with pytest.raises(PermanentError, match="which is not here"):
        await discord.token_of(other_vault, reply)
    assert await keep(engine, other_vault) != reply.id


async def test_a_reply_fails_and_is_settled_once(engine: AsyncEngine, vault: Vault) -> None:
    reply_id = await keep(engine, vault)
    later = datetime(2030, 1, 1, tzinfo=UTC)
    async with transaction(engine) as connection:
        assert await discord.record_failure(connection, reply_id, "x" * 5000, later) == 1
        assert await discord.record_failure(connection, reply_id, "again", later) == 2
        (reply,) = await discord.open_replies(connection, JOB)
        assert (reply.attempts, reply.next_attempt_at) == (2, later)
        await discord.settle_reply(connection, reply_id, "Done")
        assert await discord.open_replies(connection, JOB) == []
        assert await discord.lost(connection, reply_id, "too late") is None
        assert await discord.record_failure(connection, reply_id, "late", later) == 0
        await discord.settle_reply(connection, reply_id, "Late")
        shown = await connection.scalar(text("select shown from discord_reply"))
    assert shown == "Done"


async def test_a_lost_reply_says_whom_to_tell_in_another_way(engine: AsyncEngine, vault: Vault) -> None:
    reply_id = await keep(engine, vault)
    async with transaction(engine) as connection:
        reply = await discord.lost(connection, reply_id, "expired")
        assert reply is not None
        assert (reply.discord_user_id, reply.channel_id, reply.state) == ("42", "7", "lost")
        assert await discord.open_replies(connection, JOB) == []


async def test_x4_of_many_who_take_an_interaction_one_gets_it(engine: AsyncEngine) -> None:
    async def take(number: str) -> bool:
        async with transaction(engine) as connection:
            return await discord.take_interaction(connection, number)

    assert sorted(await asyncio.gather(*(take("1") for _ in range(5)))) == [False] * 4 + [True]
    assert await take("2")
    async with transaction(engine) as connection:
        await connection.execute(
            text("update discord_interaction set taken_at = now() - interval '10 minutes' where id = '1'")
        )
        await connection.execute(
            text("update discord_interaction set taken_at = now() - interval '1 hour' where id = '2'")
        )
    assert not await take("1"), "its signature may still pass"
    await take("3")
    async with transaction(engine) as connection:
        kept = await connection.scalars(text("select id from discord_interaction order by id"))
        assert list(kept) == ["1", "3"]
