"""Child processes, from the parent's side: started when needed, ended when they take too long or are worn."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.fics.fic import FicCode
from fascicle.sandbox.idle_children import IdleChildren
from fascicle.sandbox.lockdown import bare_environment

CHILD = "fascicle.sites.fanficfare.child"
# Adapters leak parsed pages, so a process is replaced after so many; a new one costs half a second.
_MOST_ASKS = 200
_START_SECONDS = 60.0
_LARGEST_ANSWER = 4 << 20


class TooSlow(Exception):
    """A page took longer than allowed."""


class Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._asked = 0

    @classmethod
    async def start(cls, module: str) -> "Child":
        """Start the process. It still has to load FanFicFare before it is ready."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-s", "-m", module),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=os.sep,
            env=bare_environment(),
            limit=_LARGEST_ANSWER,
            # Ctrl-C reaches only the parent, which finishes the work in progress.
            start_new_session=True,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_fit(self) -> bool:
        return self._process.returncode is None and self._asked < _MOST_ASKS

    async def ready(self) -> None:
        async with asyncio.timeout(_START_SECONDS):
            await self._answer()

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        self._asked += 1
        try:
            async with asyncio.timeout(seconds):
                await self._send(json.dumps({**request, "seconds": seconds}).encode())
                return await self._answer()
        except TimeoutError:
            raise TooSlow from None

    async def end(self) -> None:
        """Kill it at once: a child has no data to save. Reading its output to the end frees the pipes."""
        self.kill()
        await self._process.communicate()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    async def gone(self) -> None:
        await self._process.wait()

    async def _send(self, line: bytes) -> None:
        writer = self._process.stdin
        if writer is None:
            raise _gone()
        try:
            writer.write(line + b"\n")
            await writer.drain()
        except OSError as error:
            raise _gone() from error

    async def _answer(self) -> dict[str, Any]:
        reader = self._process.stdout
        try:
            line = b"" if reader is None else await reader.readline()
        except ValueError as error:  # longer than the limit
            raise PermanentError(FicCode.PARSER_BROKEN, "The page says more than a work can have.") from error
        if not line.endswith(b"\n"):
            raise _gone()
        answer: dict[str, Any] = json.loads(line)
        return answer


class Children:
    """At most `most` processes, each with one request at a time. They start when they are needed."""

    def __init__(self, most: int, module: str) -> None:
        self._module = module
        self._places = asyncio.Semaphore(most)
        self._idle = IdleChildren(self._discard)
        self._all: set[Child] = set()
        self._closed = False

    @property
    def pids(self) -> list[int]:
        return [child.pid for child in self._all]

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        async with self._places:
            child = await self._fit_child()
            try:
                answer = await child.ask(request, seconds)
            except BaseException:
                await self._discard(child)
                raise
            self._idle.append(child)
            return answer

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
        return await self._new_child()

    async def _new_child(self) -> Child:
        if self._closed:
            raise _closing()
        try:
            child = await Child.start(self._module)
        except OSError as error:
            raise _not_started(error) from error
        self._all.add(child)
        try:
            if self._closed:
                raise _closing()
            await child.ready()
        except TimeoutError as error:
            await self._discard(child)
            raise _not_started(error) from error
        except BaseException:
            await self._discard(child)
            raise
        return child

    async def _discard(self, child: Child) -> None:
        self._all.discard(child)
        await child.end()


def _closing() -> RetryableError:
    return RetryableError(FicCode.TRANSIENT, "Fascicle is shutting down; the page is read later.")


def _not_started(error: Exception) -> RetryableError:
    return RetryableError(FicCode.TRANSIENT, f"The process that reads pages could not be started: {error!r}.")


def _gone() -> RetryableError:
    return RetryableError(FicCode.TRANSIENT, "The process that reads pages ended in the middle of one.")
