"""Untrusted documents, parsed in child processes. A document that its process cannot bear is an error."""

import asyncio
import signal
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter

from fascicle.domain.errors import PermanentError
from fascicle.domain.urls import place
from fascicle.sandbox.limits import CPU_SECONDS, CRASHED, MEMORY, TIMEOUT
from fascicle.sandbox.process import Children, Gone
from fascicle.sandbox.readings import Reading

CHILD = "fascicle.sandbox.child"
T = TypeVar("T")
_TRIES = 2
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}
# Validating a larger answer would block the event loop.
_SMALL_ANSWER = 50_000


class Sandbox:
    """At most so many processes, which start with the first document; `child` is the module they run."""

    def __init__(self, processes: int, *, longest_seconds: float = 60, child: str = CHILD) -> None:
        self._children = Children(processes, child)
        self._seconds = longest_seconds

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pids(self) -> list[int]:
        """The processes that run at present."""
        return self._children.pids

    async def read(
        self, reading: Reading | str, body: bytes, answer: type[T], *, place: str, **request: Any
    ) -> T:
        """The result of the reading; a PermanentError if it takes too much time or memory.

        `place` names the document in errors; the other arguments go to the reading function.
        """
        payload = await self._payload({"reading": reading, **request}, body, place)
        adapter = _adapter(answer)
        if len(payload) <= _SMALL_ANSWER:
            return adapter.validate_json(payload)
        return await asyncio.to_thread(adapter.validate_json, payload)

    async def close(self) -> None:
        """Ends all processes at once; a caller that waits for one gets a retryable error."""
        await self._children.close()

    async def _payload(self, request: Mapping[str, Any], body: bytes, where: str) -> bytes:
        try:
            return await self._parsed(request, body)
        except TimeoutError:
            raise _unreadable(TIMEOUT, where, body, f"parsing took longer than {self._seconds:g} s") from None
        except Gone as gone:
            code = TIMEOUT if gone.ran_out_of_time else CRASHED
            raise _unreadable(code, where, body, _reason(gone)) from gone
        except PermanentError as error:
            if error.code != CRASHED:
                raise
            raise _unreadable(CRASHED, where, body, error.message) from error

    async def _parsed(self, request: Mapping[str, Any], body: bytes) -> bytes:
        """Try once more if the process ends: that need not be the document's fault."""
        for _ in range(_TRIES - 1):
            try:
                return await self._children.read(body, request, self._seconds)
            except Gone as gone:
                if gone.ran_out_of_time:
                    raise
        return await self._children.read(body, request, self._seconds)


def _adapter(answer: type[T]) -> TypeAdapter[T]:
    """Adapters are made once for each type of answer, because that is slow."""
    if answer not in _ADAPTERS:
        _ADAPTERS[answer] = TypeAdapter(answer)
    return _ADAPTERS[answer]


def _unreadable(code: str, where: str, body: bytes, why: str) -> PermanentError:
    return PermanentError(code, f"{place(where)} cannot be read ({len(body):,} bytes): {why}.")


def _reason(gone: Gone) -> str:
    if gone.ran_out_of_time:
        return f"parsing took more than {CPU_SECONDS:g} s of processor time"
    if gone.exit_code is not None and gone.exit_code < 0:
        return (
            f"the parsing process ended with {signal.Signals(-gone.exit_code).name} "
            f"(it may use {MEMORY >> 20} MB of memory)"
        )
    return "the parsing process ended without a word"
