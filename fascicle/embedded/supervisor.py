"""Starts the processes of the embedded stack in the given order, and stops them in reverse."""

import asyncio
import contextlib
from pathlib import Path
from types import TracebackType
from typing import Self

from fascicle.embedded.command import Command
from fascicle.embedded.logfile import rotate
from fascicle.embedded.process import ManagedProcess, OnEvent

GRACE_SECONDS = 10.0
_LOOK_AT_LOGS_SECONDS = 10.0


def _ignore(name: str, what: str) -> None:
    pass


class Supervisor:
    """Use it from the thread that lives longest: on Linux children die with the thread that started them.

    `on_event(name, what)` is called at every start, death, restart and stop, in the event loop's thread.
    """

    def __init__(self, folder: Path, on_event: OnEvent = _ignore) -> None:
        self.folder = folder.resolve()
        self._on_event = on_event
        self._processes: list[ManagedProcess] = []
        self._rotation: asyncio.Task[None] | None = None
        for name in ("logs", "run"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the running commands, by name."""
        return {process.command.name: process.pid for process in self._processes if process.pid is not None}

    async def start(self, command: Command) -> ManagedProcess:
        """Start `command` and return when it is ready; raises ProcessNotReady if it never is."""
        if self._rotation is None:
            self._rotation = asyncio.create_task(self._keep_logs_small())
        process = ManagedProcess(command, self.folder, self._on_event)
        self._processes.append(process)
        try:
            await process.start()
        except BaseException:
            self._processes.remove(process)
            raise
        return process

    async def stop(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Stop all processes, the last one started first; each gets `grace_seconds`."""
        while self._processes:
            await self._processes[-1].stop(grace_seconds)
            self._processes.pop()
        if self._rotation is not None:
            self._rotation.cancel()
            await asyncio.wait([self._rotation])
            self._rotation = None

    async def _keep_logs_small(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AT_LOGS_SECONDS)
            for process in list(self._processes):
                with contextlib.suppress(OSError):  # a full disk is reported elsewhere
                    await asyncio.to_thread(rotate, process.log_path)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
