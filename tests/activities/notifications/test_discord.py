"""What leaves for Discord, and what becomes of a reply that Discord does not take."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.testing import ActivityEnvironment

from activities.notifications.discord import DiscordActivities, RepliesInput
from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.services.fics.next_step import FicPlanner, fic_policy
from fascicle.services.notifications.discord_channel import post_to_channel
from fascicle.services.notifications.message import Message
from fascicle.settings.settings import Settings
from fascicle.sites.discord import Discord
from fascicle.storage.database import open_engine, transaction
from fascicle.storage.notifications import discord as replies
from fascicle.storage.operations.keyring import new_key
from fascicle.storage.operations.vault import Vault

KEY = "ao3-work-5"
NOW = datetime.now(UTC)
BUSY = MustWait("gate_wait", "later", seconds=30, refused=False)
EXPIRED = PermanentError("reply_expired", "too late")
DOWN = RetryableError("server_error", "Discord answered 502.")


class _Discord:
    """Refuses what it is told to."""

    def __init__(self, edit: FascicleError | None = None, post: FascicleError | None = None) -> None:
        self._edit, self._post = edit, post
        self.said: list[str] = []

    async def edit_reply(self, application_id: str, token: SecretStr, content: str) -> None:
        self._say(self._edit, content)

    async def post_message(self, channel: str, content: str, nonce: str, *, mention: str = "") -> None:
        self._say(self._post, content)

    def _say(self, error: FascicleError | None, content: str) -> None:
        if error is not None:
            raise error
        self.said.append(content)


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    opened = open_engine(database_url)
    async with transaction(opened) as connection:
        await connection.execute(text("insert into app_user (id, name) values ('u1', 'discord:42')"))
    yield opened
    await opened.dispose()


@pytest.mark.parametrize(
    ("edit", "post", "runs", "state", "said"),
    [
        pytest.param(None, None, 1, "settled", 1, id="edited"),
        pytest.param(BUSY, None, 20, "open", 0, id="a-wait-is-no-failure"),
        pytest.param(DOWN, None, 20, "lost", 0, id="eight-failures"),
        pytest.param(EXPIRED, None, 1, "settled", 1, id="told-in-the-channel"),
        pytest.param(EXPIRED, DOWN, 1, "open", 0, id="the-channel-is-tried-again"),
    ],
)
async def test_f5_a_reply_is_edited_told_in_the_channel_or_lost(
    engine: AsyncEngine, tmp_path: Path, edit: Any, post: Any, runs: int, state: str, said: int
) -> None:
    vault = Vault(keys=new_key(), file=None, made_file=tmp_path / "keys")
    discord = _Discord(edit, post)
    async with transaction(engine) as connection:
        await replies.keep_reply(
            connection,
            vault,
            job_key=KEY,
            user_id="u1",
            application_id="1",
            token=SecretStr("t"),
            channel_id="9",
            discord_user_id="42",
            received_at=NOW,
            not_before=NOW,
        )
    planner = FicPlanner(engine, fic_policy(Settings()))
    activities = DiscordActivities(engine, planner, cast(Discord, discord), vault)
    for run in range(1, runs + 1):
        wanted = RepliesInput(key=KEY, now=NOW + timedelta(seconds=30 * run))
        await ActivityEnvironment().run(activities.edit_replies, wanted)
    async with transaction(engine) as connection:
        assert await connection.scalar(text("select state from discord_reply")) == state
    assert len(discord.said) == said


async def test_f5_the_address_of_a_fic_in_the_channel_is_a_link_and_no_other_is() -> None:
    discord = _Discord()
    body = "Done: see https://bad.example by _Ann_\nhttps://archiveofourown.org/works/5"
    await post_to_channel(
        cast(Discord, discord), "discord-channel://9", Message(title="*Bees*", body=body), nonce="n"
    )
    assert discord.said == [
        "**\\*Bees\\***\nDone: see https:\u200b//bad.\u200bexample by \\_Ann\\_\n<https://archiveofourown.org/works/5>"
    ]
