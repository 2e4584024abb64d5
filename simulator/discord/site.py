"""Discord as an upstream: its routes, its check of the bot's token, its errors."""

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer, json_response
from simulator.discord.chat import Chat
from simulator.discord.errors import ApiError, status_answer
from simulator.discord.records import Message


class Discord:
    prefix = "/discord"

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        webhook, commands = "/webhooks/{application}/{token}", "/applications/{application}"
        self._router = Router(
            [
                Route(f"{webhook}/messages/@original", self._edit, methods=["PATCH"]),
                Route(webhook, self._follow_up, methods=["POST"]),
                Route("/channels/{channel}/messages", self._post, methods=["POST"]),
                Route(f"{commands}/commands", self._register, methods=["PUT"]),
                Route(f"{commands}/guilds/{{guild}}/commands", self._register, methods=["PUT"]),
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)

    def error(self, status: int, retry_after: str | None) -> Answer:
        return status_answer(status, retry_after)

    async def _edit(self, request: Request) -> Response:
        payload = await _json(request)
        token = request.path_params["token"]
        try:
            self._chat.edit(request.path_params["application"], token, payload)
        except ApiError as error:
            return self._refused(error, "edit", token, payload)
        self._chat.note("edit", token, payload, 200)
        return json_response({"content": payload["content"]})

    async def _follow_up(self, request: Request) -> Response:
        payload = await _json(request)
        token = request.path_params["token"]
        try:
            message = self._chat.follow_up(request.path_params["application"], token, payload)
        except ApiError as error:
            return self._refused(error, "follow_up", token, payload)
        self._chat.note("follow_up", token, payload, 200)
        return _shown(message)

    async def _post(self, request: Request) -> Response:
        payload = await _json(request)
        channel = request.path_params["channel"]
        try:
            self._check_bot(request)
            message = self._chat.post(channel, payload)
        except ApiError as error:
            return self._refused(error, "message", channel, payload)
        self._chat.note("message", channel, payload, 200)
        return _shown(message)

    async def _register(self, request: Request) -> Response:
        guild = request.path_params.get("guild")
        place = guild or "global"
        try:
            self._check_bot(request)
            commands = orjson.loads(await request.body())
            if not isinstance(commands, list):
                raise ApiError(400, 50035, "Invalid Form Body")
            kept = self._chat.register(guild, commands)
        except ApiError as error:
            return self._refused(error, "register", place, None)
        self._chat.note("register", place, None, 200)
        return json_response(kept)

    def _check_bot(self, request: Request) -> None:
        if request.headers.get("authorization") != f"Bot {self._chat.bot_token}":
            raise ApiError(401, 0, "401: Unauthorized")

    def _refused(self, error: ApiError, kind: str, place: str, payload: dict[str, Any] | None) -> Response:
        self._chat.note(kind, place, payload, error.status)
        answer = error.answer()
        return Response(answer.body, answer.status, dict(answer.headers))


async def _json(request: Request) -> dict[str, Any]:
    try:
        payload = orjson.loads(await request.body())
    except orjson.JSONDecodeError:
        return {}
    return payload if isinstance(payload, dict) else {}


def _shown(message: Message) -> Response:
    return json_response({**message.model_dump(), "type": 0})
