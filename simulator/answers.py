"""Complete HTTP answers at the ASGI level, and the interface of every upstream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

BODILESS = {204, 304}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b"" if self.status in BODILESS else self.body
        await Response(body, self.status, self.headers)(scope, receive, send)


ErrorForm = Callable[[int, str | None], Answer]


class Upstream(Protocol):
    """A simulated site: an ASGI application for the paths under its prefix."""

    prefix: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def error(self, status: int, retry_after: str | None) -> Answer:
        """This site's answer with the status; `retry_after` is the value of a Retry-After header."""


class CapturedAnswer:
    """Collects what an application sends instead of sending it."""

    def __init__(self) -> None:
        self.status = 500
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    async def replay(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class UnreadBody:
    """Receives for an application, and records whether it read the request's body to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._more = True

    async def receive(self) -> Message:
        message = await self._receive()
        self._more = message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        while self._more:
            await self.receive()


def json_response(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")


def plain_error(status: int, retry_after: str | None) -> Answer:
    """The error answer for paths that belong to no upstream."""
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    return Answer(status, orjson.dumps({"error": f"simulated status {status}"}), headers)
