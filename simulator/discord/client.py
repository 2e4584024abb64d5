"""The control client's Discord methods: the same as in process, over the control API."""

from typing import Any

from pydantic import TypeAdapter

from simulator.deviantart.client import Call as ControlCall
from simulator.discord.records import APPLICATION_ID, TOKEN_SECONDS, Call, Interaction, Message

INTERACTIONS = TypeAdapter(list[Interaction])
MESSAGES = TypeAdapter(list[Message])
CALLS = TypeAdapter(list[Call])
COMMANDS = TypeAdapter(list[dict[str, Any]])


class DiscordClient:
    def __init__(self, call: ControlCall) -> None:
        self._call = call

    async def add_interaction(
        self, token: str, *, application_id: str = APPLICATION_ID, seconds: float = TOKEN_SECONDS
    ) -> Interaction:
        """Simulate that a user used a command: its reply can be edited for `seconds` from now."""
        body = {"token": token, "application_id": application_id, "seconds": seconds}
        return Interaction.model_validate_json(await self._call("POST", "/discord/interactions", body))

    async def add_channel(self, channel_id: str, *, forbidden: bool = False) -> None:
        await self._call("POST", "/discord/channels", {"id": channel_id, "forbidden": forbidden})

    async def interactions(self) -> list[Interaction]:
        return INTERACTIONS.validate_json(await self._call("GET", "/discord/interactions"))

    async def shown(self, token: str) -> str | None:
        """The current text of the reply of that token."""
        return next((found.shown for found in await self.interactions() if found.token == token), None)

    async def messages(self, channel_id: str) -> list[Message]:
        return MESSAGES.validate_json(await self._call("GET", f"/discord/channels/{channel_id}/messages"))

    async def commands(self, guild: str | None = None) -> list[dict[str, Any]]:
        params = {"guild": guild} if guild else None
        return COMMANDS.validate_json(await self._call("GET", "/discord/commands", params=params))

    async def calls(self, kind: str | None = None) -> list[Call]:
        """The calls, oldest first; kinds are edit, follow_up, message and register."""
        params = {"kind": kind} if kind else None
        return CALLS.validate_json(await self._call("GET", "/discord/calls", params=params))
