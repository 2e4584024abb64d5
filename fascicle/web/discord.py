"""Discord's commands (F8): `POST /discord/interactions` on the ops server.

Discord requires an answer within three seconds, so every command is answered at once with "thinking"; that
reply is later edited into the result.
"""

import asyncio
import re
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fascicle.domain.errors import FascicleError, MustWait
from fascicle.domain.harmless_text import escape_markdown
from fascicle.domain.notifications.discord_reply import Reply
from fascicle.process.logs import get_logger
from fascicle.sites.discord import Discord
from fascicle.web.bodies import BodyTooLarge, read_body
from fascicle.web.discord_actions import Asked, Deed, Deeds, FicDesk, Said
from fascicle.web.discord_interaction import COMMAND, PING, Interaction, Kind, SignatureCheck

__all__ = ["DiscordRoutes", "FicDesk", "Reply"]

log = get_logger("fascicle.discord")

MOST_AT_ONCE = 50
_MOST_BYTES = 256 * 1024
_COMMAND_SECONDS = 60.0
_EDITS = 3
_LONGEST_WAIT = 10.0
_PONG, _MESSAGE, _THINKING = 1, 4, 5
_EPHEMERAL = 64
_ADDRESS = re.compile(r"[^\s.]\.[^\s.]")


class DiscordRoutes:
    """Call `close` when done: running commands get a few seconds to finish.

    `desk` is called for each command, because the ops server starts before Temporal is there.
    """

    def __init__(
        self,
        public_key: str,
        desk: Callable[[], FicDesk],
        discord: Discord,
        *,
        moderator_roles: Collection[str] = (),
        guilds: Collection[str] = (),
        has_bot: bool = False,
        clock: Callable[[], float] = time.time,
        retry_seconds: float = 1.0,
    ) -> None:
        self._signature = SignatureCheck(public_key)
        self._desk = desk
        self._discord = discord
        self._moderator_roles = frozenset(moderator_roles)
        self._guilds = frozenset(guilds)
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._under_way: set[asyncio.Task[None]] = set()
        self._deeds = Deeds(desk, has_bot=has_bot).by_command()

    def routes(self) -> list[Route]:
        return [Route("/discord/interactions", self._receive, methods=["POST"])]

    async def close(self, seconds: float = 5.0) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=seconds)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _receive(self, request: Request) -> Response:
        try:
            body = await read_body(request, _MOST_BYTES)
        except BodyTooLarge as error:
            return _refusal(413, "too_large", str(error))
        if not self._signature.passes(request.headers, body, self._clock()):
            return _refusal(401, "unauthorized", "This is not signed by Discord, or too long ago.")
        try:
            kind = Kind.model_validate_json(body).type
            if kind == PING:
                return _json({"type": _PONG})
            if kind != COMMAND:
                return _refusal(400, "unknown_interaction", "Only commands are answered here.")
            interaction = Interaction.model_validate_json(body)
            return self._answer(interaction, *interaction.command())
        except ValueError:  # pydantic's among them
            return _refusal(400, "invalid_body", "This is not an interaction as Discord describes it.")

    def _answer(self, interaction: Interaction, name: str, options: dict[str, str]) -> Response:
        deed = self._deeds.get(name)
        if deed is None:
            return _private("This command is not known here (any more): fascicle discord register.")
        if refused := self._refused(interaction, deed, options):
            return _private(refused)
        asked = self._asked(interaction, name, options)
        log.info("discord_command", command=name, user=asked.user, interaction=interaction.id)
        thinking = {"type": _THINKING, "data": {"flags": _EPHEMERAL}} if deed.private else {"type": _THINKING}
        # The reply can be edited only after Discord has received this answer.
        return _json(thinking, background=BackgroundTask(self._begin, asked, deed))

    def _refused(self, interaction: Interaction, deed: Deed, options: dict[str, str]) -> str | None:
        if self._guilds and interaction.guild_id not in self._guilds:
            return "This works only in the servers that this installation is for."
        if deed.for_moderators and not interaction.is_by_moderator(self._moderator_roles):
            return "That is for moderators. If you are one, ask whoever runs this to add your role."
        if "url" in options and not _ADDRESS.search(options["url"]):
            return "That is not an address: copy the fic's from your browser."
        if len(self._under_way) >= MOST_AT_ONCE:
            return "Many people ask at once. Please try again in a minute."
        return None

    def _asked(self, interaction: Interaction, name: str, options: dict[str, str]) -> Asked:
        person = interaction.person
        reply = Reply(
            application_id=interaction.application_id,
            token=interaction.token,
            channel_id=interaction.channel_id,
            discord_user_id=person,
            received_at=datetime.fromtimestamp(self._clock(), UTC),
        )
        return Asked(name, options, f"discord:{person}", reply, interaction.id)

    async def _begin(self, asked: Asked, deed: Deed) -> None:
        task = asyncio.create_task(self._carry_out(asked, deed), name=f"discord {asked.name}")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _carry_out(self, asked: Asked, deed: Deed) -> None:
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                if not await self._desk().take_interaction(asked.interaction_id):
                    log.info("discord_command_repeated", command=asked.name, user=asked.user)
                    return
                said = await deed.do(asked)
        except FascicleError as error:
            said = Said(escape_markdown(error.message))
        except TimeoutError:
            said = Said("This takes longer than expected. See `/rec queue` in a while.")
        except Exception:
            log.exception("discord_command_failed", command=asked.name, user=asked.user)
            said = Said("Something went wrong here. Whoever runs this finds the reason in the log.")
        await self._say(asked, said)

    async def _say(self, asked: Asked, said: Said) -> None:
        for attempt in range(1, _EDITS + 1):
            try:
                await self._discord.edit_reply(asked.reply.application_id, asked.reply.token, said.text)
                return
            except FascicleError as error:
                # At the first attempt, this error can mean that Discord has not received our answer yet.
                too_early = error.code == "reply_expired" and attempt == 1
                again = too_early or (error.retryable and not said.passing)
                if attempt == _EDITS or not again:
                    log.warning(
                        "discord_reply_failed", command=asked.name, user=asked.user, error=error.message
                    )
                    return
                wait = error.seconds if isinstance(error, MustWait) else self._retry_seconds * attempt
                await asyncio.sleep(min(wait, _LONGEST_WAIT))


def _private(text: str) -> Response:
    data = {"content": text, "flags": _EPHEMERAL, "allowed_mentions": {"parse": []}}
    return _json({"type": _MESSAGE, "data": data})


def _refusal(status: int, code: str, message: str) -> Response:
    return _json({"error": {"code": code, "message": message}}, status)


def _json(value: Any, status: int = 200, background: BackgroundTask | None = None) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json", background=background)
