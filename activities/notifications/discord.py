"""Replies on Discord that wait for their fic: they are edited when it is done; if a reply can no longer be
edited, the bot posts in its channel (F5)."""

import random
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import MustWait, PermanentError, RetryableError
from fascicle.domain.fics.fic import FicView
from fascicle.domain.fics.fic_words import describe_on_discord
from fascicle.process.logs import get_logger
from fascicle.services.fics.next_step import FicPlanner
from fascicle.sites.discord import Discord
from fascicle.storage.database import transaction
from fascicle.storage.notifications import discord as replies
from fascicle.storage.notifications.discord import StoredReply
from fascicle.storage.operations.vault import Vault

_ATTEMPTS = 8
_RETRY_SECONDS = 2.0
CLEARED = "This fic was taken out of the queue by a moderator."

log = get_logger("fascicle.discord")


class RepliesInput(BaseModel):
    key: str
    now: datetime


class RepliesResult(BaseModel):
    edited: int = 0


class DiscordActivities:
    def __init__(self, engine: AsyncEngine, planner: FicPlanner, discord: Discord, vault: Vault) -> None:
        self._engine = engine
        self._planner = planner
        self._discord = discord
        self._vault = vault

    @activity.defn
    async def edit_replies(self, wanted: RepliesInput) -> RepliesResult:
        """Write the result into every reply that waits for this fic. Safe to repeat, as it only edits."""
        result = RepliesResult()
        async with heartbeating():
            async with transaction(self._engine) as connection:
                view = await self._planner.view(connection, wanted.key)
                waiting = await replies.open_replies(connection, wanted.key)
            if view is not None and not view.finished:
                return result
            for reply in waiting:
                if reply.next_attempt_at <= wanted.now:
                    result.edited += await self._say(reply, view, wanted.now)
        return result

    async def _say(self, reply: StoredReply, view: FicView | None, now: datetime) -> bool:
        content = CLEARED if view is None else describe_on_discord(view)
        try:
            await self._edit_or_post(reply, content, now)
        except MustWait as wait:
            async with transaction(self._engine) as connection:
                until = now + timedelta(seconds=wait.seconds)
                await replies.put_off(connection, reply.id, wait.message, until)
            return False
        except RetryableError as error:
            wait_seconds = backoff_seconds(reply.attempts + 1, _RETRY_SECONDS, random.uniform(-1, 1))  # noqa: S311
            return await self._again(reply, error.message, now + timedelta(seconds=wait_seconds))
        except PermanentError as error:
            return await self._lose(reply, error.message)
        async with transaction(self._engine) as connection:
            await replies.settle_reply(connection, reply.id, content)
        return True

    async def _again(self, reply: StoredReply, error: str, at: datetime) -> bool:
        async with transaction(self._engine) as connection:
            attempts = await replies.record_failure(connection, reply.id, error, at)
        return await self._lose(reply, error) if attempts >= _ATTEMPTS else False

    async def _lose(self, reply: StoredReply, error: str) -> bool:
        log.warning("discord_reply_lost", key=reply.job_key, error=error)
        async with transaction(self._engine) as connection:
            await replies.lost(connection, reply.id, error)
        return False

    async def _edit_or_post(self, reply: StoredReply, content: str, now: datetime) -> None:
        """Edit the reply; if that is not possible any more, post in the channel and mention the person."""
        if now < reply.expires_at:
            try:
                token = await replies.token_of(self._vault, reply)
                await self._discord.edit_reply(reply.application_id, token, content)
                return
            except PermanentError as error:
                if error.code != "reply_expired":
                    raise
        await self._say_in_channel(reply, content)

    async def _say_in_channel(self, reply: StoredReply, content: str) -> None:
        if reply.channel_id is None:
            raise PermanentError("reply_expired", "The reply is too old to be edited, its channel unknown.")
        await self._discord.post_message(
            reply.channel_id, content, f"fic-{reply.id}", mention=reply.discord_user_id
        )
