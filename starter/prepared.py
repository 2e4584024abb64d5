"""The process that prepares the stack (`starter.preparation`), from the conductor's side."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from fascicle.domain.errors import FascicleError
from fascicle.runtime.correlation_id import current_correlation_id
from fascicle.runtime.setting_names import CORRELATION_VARIABLE

# Without the folder a person stands in: a module of theirs must not be taken for ours.
_MODULE = (sys.executable, "-P", "-m", "starter.preparation")


class Preparation:
    """Started on entering; ended, if it is not done, on leaving."""

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
            # Ctrl-C is for the conductor.
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
        """What it says, until it is done; its error as ours."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said: dict[str, Any] = orjson.loads(line)
            if "error" in said:
                raise FascicleError(said["error"], said["message"])
            yield said
        if await self._process.wait():
            raise FascicleError("not_prepared", "The process that prepares the stack ended; see above.")

    async def go_on(self) -> None:
        """The worker is there."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        await self._process.stdin.drain()
