"""The Discord routes of the control API."""

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response

from simulator.answers import json_response
from simulator.control_parts import Table, read
from simulator.discord.chat import Chat
from simulator.discord.records import APPLICATION_ID, TOKEN_SECONDS


class NewInteraction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: str
    application_id: str = APPLICATION_ID
    seconds: float = TOKEN_SECONDS


class NewChannel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    forbidden: bool = False


class DiscordControl:
    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def table(self) -> Table:
        return [
            ("POST", "/discord/interactions", self._add_interaction),
            ("GET", "/discord/interactions", self._interactions),
            ("POST", "/discord/channels", self._add_channel),
            ("GET", "/discord/channels/{id}/messages", self._messages),
            ("GET", "/discord/commands", self._commands),
            ("GET", "/discord/calls", self._calls),
        ]

    async def _add_interaction(self, request: Request) -> Response:
        wanted = await read(request, NewInteraction)
        added = self._chat.add_interaction(
            wanted.token, application_id=wanted.application_id, seconds=wanted.seconds
        )
        return json_response(added.model_dump(), 201)

    async def _interactions(self, request: Request) -> Response:
        return json_response([found.model_dump() for found in self._chat.interactions()])

    async def _add_channel(self, request: Request) -> Response:
        wanted = await read(request, NewChannel)
        self._chat.add_channel(wanted.id, forbidden=wanted.forbidden)
        return json_response({"status": "ok"}, 201)

    async def _messages(self, request: Request) -> Response:
        return json_response([m.model_dump() for m in self._chat.messages(request.path_params["id"])])

    async def _commands(self, request: Request) -> Response:
        return json_response(self._chat.commands(request.query_params.get("guild")))

    async def _calls(self, request: Request) -> Response:
        return json_response([c.model_dump() for c in self._chat.calls(request.query_params.get("kind"))])
