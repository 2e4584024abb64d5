"""Faults on demand: which requests go wrong, how often and in which way."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulator.answers import Answer, CapturedAnswer, ErrorForm
from simulator.connection import close_early, reset
from simulator.paths import path_matches

FaultKind = Literal["status", "delay", "headers", "truncated", "reset", "html", "half_json"]

GARBAGE = {
    "html": (
        "text/html; charset=utf-8",
        b"<!DOCTYPE html><html><body><h1>Just a moment...</h1></body></html>",
    ),
    "half_json": ("application/json", b'{"result":"ok","response":"collection","data":[{"id":"'),
}


class Fault(BaseModel):
    """What goes wrong.

    `path` is a prefix, or a pattern with `*` for the whole path. The first `skip` matching requests pass; of
    the rest, each is hit with `probability`, until `count` have been hit (None: without end). `delay` and
    `headers` may accompany any kind; the kinds of those names do nothing else. `retry_after` is seconds or an
    HTTP date.

    Kinds `status`, `reset`, `html` and `half_json` keep the request from the application, unless
    `takes_effect`: then it is carried out and only its answer is lost. `truncated` always takes effect.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: FaultKind = "status"
    path: str = "/"
    method: Annotated[str, StringConstraints(to_upper=True)] | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    probability: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: int = 0
    skip: Annotated[int, Field(ge=0)] = 0
    status: Annotated[int, Field(ge=200, le=599)] = 503
    retry_after: int | str | None = None
    delay: Annotated[float, Field(ge=0)] = 0.0
    headers: dict[str, str] = {}
    body: str | None = None
    takes_effect: bool = False

    @model_validator(mode="after")
    def _does_something(self) -> "Fault":
        if self.kind == "delay" and not self.delay:
            raise ValueError("a fault of kind delay needs a delay in seconds")
        if self.kind == "headers" and not self.headers:
            raise ValueError("a fault of kind headers needs headers")
        return self


class FaultReport(BaseModel):
    """How a fault has fared: requests it matched, and requests it hit."""

    id: int
    fault: Fault
    seen: int
    hits: int


@dataclass
class ArmedFault:
    id: int
    fault: Fault
    seen: int = 0
    hits: int = 0
    _random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = Random(self.fault.seed)  # noqa: S311 - a script that repeats, not a secret

    def strikes(self, method: str, path: str) -> bool:
        """Whether the request is hit; counts it either way."""
        fault = self.fault
        if fault.method not in (None, method) or not path_matches(fault.path, path):
            return False
        self.seen += 1
        spent = fault.count is not None and self.hits >= fault.count
        if spent or self.seen <= fault.skip or self._random.random() >= fault.probability:
            return False
        self.hits += 1
        return True

    def report(self) -> FaultReport:
        return FaultReport(id=self.id, fault=self.fault, seen=self.seen, hits=self.hits)


class Faults:
    """The armed faults. A request is hit by one at most: the first that strikes, in the order of arming."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._armed: list[ArmedFault] = []
        self._last_id = 0

    def add(self, fault: Fault) -> ArmedFault:
        with self._lock:
            self._last_id += 1
            armed = ArmedFault(self._last_id, fault)
            self._armed.append(armed)
            return armed

    def clear(self) -> None:
        with self._lock:
            self._armed.clear()

    def reports(self) -> list[FaultReport]:
        with self._lock:
            return [armed.report() for armed in self._armed]

    def strike(self, method: str, path: str) -> Fault | None:
        with self._lock:
            return next((armed.fault for armed in self._armed if armed.strikes(method, path)), None)


class FaultyApp:
    """Runs an application, except where a fault strikes. Names the fault in the request's state."""

    def __init__(self, app: ASGIApp, faults: Faults, error_form_of: Callable[[str], ErrorForm]) -> None:
        self._app = app
        self._faults = faults
        self._error_form_of = error_form_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self._faults.strike(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if fault is None:
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["fault"] = fault.kind
        await asyncio.sleep(fault.delay)
        await self._spoil(fault, scope, receive, _adding_headers(send, fault.headers))

    async def _spoil(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind in ("delay", "headers"):
            await self._app(scope, receive, send)
            return
        captured = CapturedAnswer()
        if fault.takes_effect or fault.kind == "truncated":
            await self._app(scope, receive, captured.send)
        else:
            await _read_request(receive)
        match fault.kind:
            case "reset":
                await reset(scope, receive)
            case "truncated":
                await _send_half(captured, send)
                await close_early(scope, receive)
            case _:
                await self._wrong_answer(fault, scope["path"])(scope, receive, send)

    def _wrong_answer(self, fault: Fault, path: str) -> Answer:
        if fault.kind in GARBAGE:
            content_type, garbage = GARBAGE[fault.kind]
            body = garbage if fault.body is None else fault.body.encode()
            return Answer(200, body, {"content-type": content_type})
        retry_after = None if fault.retry_after is None else str(fault.retry_after)
        answer = self._error_form_of(path)(fault.status, retry_after)
        return answer if fault.body is None else Answer(answer.status, fault.body.encode(), answer.headers)


def _adding_headers(send: Send, headers: dict[str, str]) -> Send:
    added = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    replaced = {name for name, _ in added}

    async def send_with_headers(message: Message) -> None:
        if added and message["type"] == "http.response.start":
            kept = [header for header in message.get("headers", []) if header[0].lower() not in replaced]
            message = {**message, "headers": kept + added}
        await send(message)

    return send_with_headers


async def _read_request(receive: Receive) -> None:
    # A client that is still writing when the connection breaks sees something else than a broken answer.
    while (await receive()).get("more_body", False):
        pass


async def _send_half(captured: CapturedAnswer, send: Send) -> None:
    """Announce the whole answer, send half of it."""
    length = str(max(len(captured.body), 2)).encode()
    headers = [header for header in captured.headers if header[0].lower() != b"content-length"]
    headers.append((b"content-length", length))
    await send({"type": "http.response.start", "status": captured.status, "headers": headers})
    half = captured.body[: len(captured.body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})
