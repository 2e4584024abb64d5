"""A paid upstream: it checks the key, and records each call in the ledger."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from simulator.answers import Answer
from simulator.metered.ledger import CallT
from simulator.metered.sending import tell_when_sent, wait_unless_left
from simulator.metered.service import OptionsT, ScriptT, Service


@dataclass(frozen=True, slots=True)
class Outcome:
    answer: Answer
    paid: bool = False
    cost: float = 0.0


class MeteredSite(ABC, Generic[OptionsT, ScriptT, CallT]):
    """Answers POST at `path`, below its prefix. A subclass defines the calls and their outcomes."""

    prefix: str
    path: str

    def __init__(self, service: Service[OptionsT, ScriptT, CallT]) -> None:
        self._service = service
        self._router = Router([Route(self.path, self._post, methods=["POST"])], redirect_slashes=False)

    @abstractmethod
    def error(self, status: int, retry_after: str | None) -> Answer:
        """This upstream's error answer for a status."""

    @abstractmethod
    def _call(self, body: dict[str, Any]) -> CallT:
        """The ledger's record of the request."""

    @abstractmethod
    def _outcome(self, body: dict[str, Any], call: CallT, script: ScriptT | None) -> Outcome:
        """The answer to a call with a valid key; `script` decides it if there is one."""

    @abstractmethod
    def _subject(self, call: CallT) -> str:
        """The subject of the call, by which scripts choose calls: a model, an address."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        except HTTPException as error:
            await self.error(error.status_code, None)(scope, receive, send)

    async def _post(self, request: Request) -> Response:
        body = _object(await request.body())
        call = self._call(body)
        ledger = self._service.ledger
        ledger.open(call)
        tell_when_sent(request.scope, partial(ledger.note_sent, call))
        outcome = self._decided(request, body, call)
        await wait_unless_left(request.receive, self._service.options.latency)
        answer = outcome.answer
        ledger.answer(call, answer.status, paid=outcome.paid, cost=outcome.cost)
        return Response(answer.body, answer.status, dict(answer.headers))

    def _decided(self, request: Request, body: dict[str, Any], call: CallT) -> Outcome:
        if not self._has_key(request):
            return Outcome(self.error(401, None))
        script = self._service.next_script(self._subject(call))
        call.script = script.name if script else None
        return self._outcome(body, call, script)

    def _has_key(self, request: Request) -> bool:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        wanted = self._service.options.api_key
        return scheme.lower() == "bearer" and bool(key) and wanted in (None, key)


def _object(content: bytes) -> dict[str, Any]:
    """The body; anything but a JSON object becomes an empty one, which is refused for its missing fields."""
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return body if isinstance(body, dict) else {}
