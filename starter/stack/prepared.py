"""Starts the process that prepares the stack (`starter.stack.preparation`), and reads its messages."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from fascicle.domain.errors import FascicleError
from fascicle.process.correlation_id import current_correlation_id
from fascicle.settings.setting_names import CORRELATION_VARIABLE

# `-P`: do not import from the current folder, which may have a module of the same name.
_MODULE = (sys.executable, "-P", "-m", "starter.stack.preparation")


class Preparation:
    """The process: started on entering; killed on leaving, if it still runs."""

    def __init__(self, *, own_temporal: bool, simulator: str | None, shelf: Path) -> None:
        self._options = [
            *(["--own-temporal"] if own_temporal else []),
            *(["--simulator", simulator] if simulator is not None else []),
            *("--shelf", str(shelf)),
        ]
        self._process: asyncio.subprocess.Process

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *_MODULE,
            *self._options,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, CORRELATION_VARIABLE: current_correlation_id() or ""},
            # A session of its own, so that Ctrl-C reaches only the conductor.
            start_new_session=True,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def news(self) -> AsyncIterator[dict[str, Any]]:
        """The messages of the process until it ends; raises its error."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said: dict[str, Any] = orjson.loads(line)
            if "error" in said:
                raise FascicleError(said["error"], said["message"])
            yield said
        if await self._process.wait():
            raise FascicleError("not_prepared", "The process that prepares the stack ended; see above.")

    async def go_on(self) -> None:
        """Tell the process that the worker is running."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        await self._process.stdin.drain()
