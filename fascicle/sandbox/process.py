"""Parsing processes, from the parent's side: started when needed, ended when stuck or worn."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fascicle.domain.errors import FascicleError, PermanentError, RetryableError
from fascicle.sandbox.idle_children import IdleChildren
from fascicle.sandbox.limits import LARGEST_ANSWER
from fascicle.sandbox.lockdown import bare_environment

# A process is replaced after so many, so that its memory is given back; a new process costs half a second.
_MOST_READINGS = 500
_START_SECONDS = 60.0
_DYING_SECONDS = 5.0
_LONGEST_HEAD = 64 << 10


class Gone(Exception):
    """The process ended in the middle of a document."""

    def __init__(self, exit_code: int | None = None) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code

    @property
    def ran_out_of_time(self) -> bool:
        return self.exit_code in (-signal.SIGXCPU, -signal.SIGALRM)


class Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._readings = 0
        self._is_worn = False

    @classmethod
    async def start(cls, module: str) -> "Child":
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-s", "-m", module),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=os.sep,
            env=bare_environment(),
            limit=_LONGEST_HEAD,
            # Ctrl-C reaches only the parent, which finishes the work in progress.
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_fit(self) -> bool:
        is_alive = self._process.returncode is None
        return is_alive and not self._is_worn and self._readings < _MOST_READINGS

    async def ready(self) -> None:
        async with asyncio.timeout(_START_SECONDS):
            await self._answer()

    async def read(self, body: bytes, request: Mapping[str, Any], seconds: float) -> bytes:
        """The result as JSON. Raises TimeoutError if it takes longer than `seconds`."""
        self._readings += 1
        async with asyncio.timeout(seconds):
            await self._send(json.dumps({**request, "size": len(body), "seconds": seconds}).encode(), body)
            head, payload = await self._answer()
        self._is_worn = "worn" in head
        raise_failure(head)
        return payload

    async def end(self) -> None:
        """Kill it at once: a child has no data to save. Reading its output to the end frees the pipes."""
        self.kill()
        await self._process.communicate()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def gone(self) -> None:
        await self._process.wait()

    async def _send(self, line: bytes, body: bytes) -> None:
        writer = self._process.stdin
        assert writer is not None
        try:
            writer.write(line + b"\n")
            writer.write(body)
            await writer.drain()
        except OSError as error:
            raise await self._gone() from error

    async def _answer(self) -> tuple[dict[str, Any], bytes]:
        """Reads at most the allowed length: a process that sends more counts as broken."""
        reader = self._process.stdout
        assert reader is not None
        try:
            head = json.loads(await reader.readuntil(b"\n"))
            if head["size"] > LARGEST_ANSWER:
                raise Gone
            return head, await reader.readexactly(head["size"])
        except asyncio.IncompleteReadError as error:
            raise await self._gone() from error
        except asyncio.LimitOverrunError as error:
            raise Gone from error

    async def _gone(self) -> Gone:
        with suppress(TimeoutError):
            async with asyncio.timeout(_DYING_SECONDS):
                await self._process.wait()
        return Gone(self._process.returncode)


def raise_failure(head: Mapping[str, Any]) -> None:
    if "failed" in head:
        family = RetryableError if head["retryable"] else PermanentError
        raise family(head["failed"], head["said"], http_status=head["http_status"])


class Children:
    """At most `most` processes, each with one document at a time. They start when they are needed."""

    def __init__(self, most: int, module: str) -> None:
        self._module = module
        self._places = asyncio.Semaphore(most)
        self._idle = IdleChildren(self._discard)
        self._all: set[Child] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._all]

    async def read(self, body: bytes, request: Mapping[str, Any], seconds: float) -> bytes:
        async with self._places:
            child = await self._fit_child()
            try:
                payload = await child.read(body, request, seconds)
            except FascicleError:
                self._idle.append(child)
                raise
            except BaseException as error:
                await self._discard(child)
                if self._closed and isinstance(error, Gone):
                    raise _closing() from error
                raise
            self._idle.append(child)
            return payload

    async def close(self) -> None:
        """Kill all children. The caller that waits for a busy child sees its end and discards it."""
        self._closed = True
        busy = self._all.difference(self._idle)
        for child in busy:
            child.kill()
        while self._idle:
            await self._discard(self._idle.pop())
        for child in busy:
            await child.gone()
        await self._idle.ended()

    async def _fit_child(self) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.is_fit:
                return child
            await self._discard(child)
        if self._closed:
            raise _closing()
        return await self._new_child()

    async def _new_child(self) -> Child:
        child = None
        try:
            child = await Child.start(self._module)
            self._all.add(child)
            if self._closed:
                raise _closing()
            await child.ready()
        except BaseException as error:
            if child:
                await self._discard(child)
            if isinstance(error, OSError | Gone):  # a TimeoutError is an OSError
                raise (_closing() if self._closed else _not_started(error)) from error
            raise
        return child

    async def _discard(self, child: Child) -> None:
        self._all.discard(child)
        await child.end()


def _closing() -> RetryableError:
    return RetryableError("shutting_down", "Fascicle is shutting down; this is read later.")


def _not_started(error: Exception) -> RetryableError:
    return RetryableError("parser_not_started", f"The process that reads documents did not start: {error!r}.")
