"""Faults on demand: which requests fail, how often, and how."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulator.answers import Answer, CapturedAnswer, ErrorForm, UnreadBody
from simulator.connection import close_early, reset
from simulator.holds import DroppedError, Holds, buffered
from simulator.paths import path_matches

FaultKind = Literal["status", "delay", "hold", "headers", "truncated", "reset", "html", "half_json"]
# These kinds leave the answer intact; only the fault's delays, hold and headers apply.
HARMLESS = ("delay", "hold", "headers")

GARBAGE = {
    "html": (
        "text/html; charset=utf-8",
        b"<!DOCTYPE html><html><body><h1>Just a moment...</h1></body></html>",
    ),
    "half_json": ("application/json", b'{"result":"ok","response":"collection","data":[{"id":"'),
}


class Fault(BaseModel):
    """One way in which requests fail.

    `path` is a prefix, or a pattern with `*` for the whole path. The first `skip` matching requests pass; of
    the rest, each is hit with `probability`, until `count` have been hit (None: without end). `retry_after`
    is seconds or an HTTP date.

    `delay`, `delay_after`, `hold` and `headers` may accompany any kind; the kinds delay, hold and headers do
    nothing else. `delay` comes before the request takes effect, `delay_after` between that and the answer.
    `hold` stops the request `before` or `after` it takes effect, until its release or for `hold_seconds`. If
    the client leaves during a hold `before`, the request never takes effect, unless the fault is `late`: then
    it takes effect when the hold ends.

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
    delay_after: Annotated[float, Field(ge=0)] = 0.0
    hold: Literal["before", "after"] | None = None
    hold_seconds: Annotated[float, Field(gt=0)] = 60.0
    late: bool = False
    headers: dict[str, str] = {}
    body: str | None = None
    takes_effect: bool = False

    @model_validator(mode="after")
    def _does_something(self) -> "Fault":
        if self.kind == "delay" and not (self.delay or self.delay_after):
            raise ValueError("a fault of kind delay needs a delay in seconds")
        if self.kind == "hold" and not self.hold:
            raise ValueError("a fault of kind hold needs to know where: before or after")
        if self.kind == "headers" and not self.headers:
            raise ValueError("a fault of kind headers needs headers")
        return self


class FaultReport(BaseModel):
    """A fault's counters: requests it matched, requests it hit, and requests it holds right now."""

    id: int
    fault: Fault
    seen: int
    hits: int
    held: int = 0


@dataclass
class ArmedFault:
    id: int
    fault: Fault
    seen: int = 0
    hits: int = 0
    holds: Holds = field(default_factory=Holds)
    _random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = Random(self.fault.seed)  # noqa: S311 - a script that repeats, not a secret

    def strikes(self, method: str, path: str) -> bool:
        """Whether the fault hits the request. It counts matching requests: call it once for each."""
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
        return FaultReport(id=self.id, fault=self.fault, seen=self.seen, hits=self.hits, held=len(self.holds))


class Faults:
    """The armed faults. At most one hits a request: the first that strikes, in the order of arming."""

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
        """Disarm all faults and release the requests they hold."""
        self.release()
        with self._lock:
            self._armed.clear()

    def release(self, fault_id: int | None = None, *, drop: bool = False) -> int:
        """Let the held requests of one fault or of all go on. Returns their number.

        With `drop` their connections are reset instead, and requests held `before` never take effect.
        """
        with self._lock:
            meant = [armed for armed in self._armed if fault_id in (None, armed.id)]
            return sum(armed.holds.release(drop=drop) for armed in meant)

    def reports(self) -> list[FaultReport]:
        with self._lock:
            return [armed.report() for armed in self._armed]

    def strike(self, method: str, path: str) -> ArmedFault | None:
        with self._lock:
            return next((armed for armed in self._armed if armed.strikes(method, path)), None)


class FaultyApp:
    """Runs an application and applies the armed faults. Names the fault in the request's state."""

    def __init__(self, app: ASGIApp, faults: Faults, error_form_of: Callable[[str], ErrorForm]) -> None:
        self._app = app
        self._faults = faults
        self._error_form_of = error_form_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        armed = self._faults.strike(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if armed is None:
            await self._app(scope, receive, send)
            return
        fault = armed.fault
        scope.setdefault("state", {})["fault"] = fault.kind
        await asyncio.sleep(fault.delay)
        send = _adding_headers(send, fault.headers)
        try:
            body = await buffered(receive) if fault.hold else receive
            if fault.hold == "before":
                await armed.holds.keep(receive, fault.hold_seconds, late=fault.late)
            await self._spoil(armed, scope, body, send)
        except DroppedError:
            await reset(scope, receive)

    async def _spoil(self, armed: ArmedFault, scope: Scope, receive: Receive, send: Send) -> None:
        fault = armed.fault
        if fault.kind in HARMLESS and fault.hold != "after" and not fault.delay_after:
            await self._app(scope, receive, send)
            return
        captured = CapturedAnswer()
        if fault.takes_effect or fault.kind in (*HARMLESS, "truncated"):
            await self._app(scope, receive, captured.send)
        else:
            await UnreadBody(receive).read_rest()
        await asyncio.sleep(fault.delay_after)
        if fault.hold == "after":
            await armed.holds.keep(receive, fault.hold_seconds, late=True)
        await self._answer(fault, captured, scope, receive, send)

    async def _answer(
        self, fault: Fault, captured: CapturedAnswer, scope: Scope, receive: Receive, send: Send
    ) -> None:
        match fault.kind:
            case "reset":
                await reset(scope, receive)
            case "truncated":
                await _send_half(captured, send)
                await close_early(scope, receive)
            case "delay" | "hold" | "headers":
                await captured.replay(send)
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


async def _send_half(captured: CapturedAnswer, send: Send) -> None:
    """Announce the whole answer, but send half of it."""
    length = str(max(len(captured.body), 2)).encode()
    headers = [header for header in captured.headers if header[0].lower() != b"content-length"]
    headers.append((b"content-length", length))
    await send({"type": "http.response.start", "status": captured.status, "headers": headers})
    half = captured.body[: len(captured.body) // 2]
    await send({"type": "http.response.body", "body": half, "more_body": True})
