"""`python worker.py` as forks of one process that has done the imports: real processes to be killed, at a
quarter of the price.

python -P forked_workers.py    reads an order per line, answers with the new worker's pid
"""

import asyncio
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

DRAIN_SECONDS = 20


class ForkedWorkers:
    """The parent's side. Closing it ends all workers that still run."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-P", __file__],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(self, folder: Path, env: Mapping[str, str], *options: str) -> "ForkedWorker":
        assert self._server.stdin
        assert self._server.stdout
        order = {"arguments": options, "cwd": str(folder), "env": dict(env)}
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        return ForkedWorker(int(self._server.stdout.readline()))

    def close(self) -> None:
        self._server.communicate()


class ForkedWorker:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._process = os.pidfd_open(pid)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._end)
        os.close(self._process)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self.has_ended(within=10)

    def has_ended(self, *, within: float = 0) -> bool:
        return bool(select.select([self._process], [], [], within)[0])

    def _end(self) -> None:
        if not self.has_ended():
            self._signal(signal.SIGTERM)
            if not self.has_ended(within=DRAIN_SECONDS):
                self.kill()

    def _signal(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self._process, number)


def serve() -> None:
    for name in ("worker", "asyncpg", "sqlalchemy.dialects.postgresql.asyncpg", "apprise"):
        importlib.import_module(name)
    # Apprise imports its hundred services when the first channel is looked at.
    importlib.import_module("apprise").Apprise.instantiate("json://localhost")
    # A collection in a fork would copy all that was imported, page by page, just to look at it.
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become_worker(json.loads(line))
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)


def _become_worker(order: dict[str, Any]) -> NoReturn:
    from worker import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["cwd"])
    with open(os.devnull) as nothing, open("worker.log", "ab") as log:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = ["worker.py", *order["arguments"]]
    main()
    os._exit(99)  # main leaves by itself


if __name__ == "__main__":
    serve()
