"""A receiver of notifications, which stores them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from simulator.answers import json_response
from simulator.state import replace_file


@dataclass(frozen=True, slots=True)
class SinkMessage:
    """A message posted to `/sink/{name}`; `payload` is the JSON object as received."""

    name: str
    number: int
    at: float
    title: str
    message: str
    type: str
    payload: dict[str, Any]


SAVED_MESSAGE = TypeAdapter(SinkMessage)


class Sink:
    """Keeps messages in memory, and with `journal` also in that file, one line each."""

    def __init__(self, journal: Path | None = None) -> None:
        self._lock = Lock()
        self._journal = journal
        self._messages = list(_read_journal(journal)) if journal and journal.exists() else []
        if journal:
            # Rewriting the file drops a line that a killed process left half written.
            replace_file(journal, b"".join(map(_line, self._messages)))

    def add(self, name: str, payload: dict[str, Any]) -> SinkMessage:
        texts = {key: str(payload.get(key, "")) for key in ("title", "message", "type")}
        with self._lock:
            number = self._messages[-1].number + 1 if self._messages else 1
            message = SinkMessage(name=name, number=number, at=time.time(), payload=payload, **texts)
            if self._journal:
                with self._journal.open("ab") as journal:
                    journal.write(_line(message))
            self._messages.append(message)
        return message

    def messages(self, name: str | None = None) -> list[SinkMessage]:
        """All messages, or those posted under one name, oldest first."""
        with self._lock:
            return [message for message in self._messages if name in (None, message.name)]

    def clear(self) -> None:
        with self._lock:
            self._messages.clear()
            if self._journal:
                replace_file(self._journal, b"")

    def route(self) -> Route:
        return Route("/sink/{name}", self._receive, methods=["POST"])

    async def _receive(self, request: Request) -> Response:
        try:
            payload = orjson.loads(await request.body())
        except orjson.JSONDecodeError as error:
            return json_response({"error": f"not JSON: {error}"}, 400)
        if not isinstance(payload, dict):
            return json_response({"error": "a notification is a JSON object"}, 400)
        message = self.add(request.path_params["name"], payload)
        return json_response({"number": message.number})


def _line(message: SinkMessage) -> bytes:
    return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)


def _read_journal(journal: Path) -> Iterable[SinkMessage]:
    for line in journal.read_bytes().splitlines():
        try:
            yield SAVED_MESSAGE.validate_json(line)
        except ValidationError:
            continue
