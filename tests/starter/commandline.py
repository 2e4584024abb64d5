"""The real commands as real processes: `fascicle …`, `fascicle up`, `python worker.py`."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from simulator.client import NO_CERTIFICATES

ROOT = Path(__file__).parents[2]
FASCICLE = Path(sys.executable).with_name("fascicle")


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self
        return json.loads(self.out)

    def said(self) -> str:
        """Everything, as one line: what a person reads has no fixed places for line breaks."""
        return " ".join(f"{self.out} {self.err}".split())


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without settings for Fascicle. Byte code is kept: imports take seconds."""
    ours = ("FASCICLE_", "TEMPORAL_", "OTEL_", "DATABASE_URL", "PYTHONDONTWRITEBYTECODE")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours)} | extra


def run_fascicle(*arguments: str, cwd: Path, env: Mapping[str, str], seconds: float = 60) -> Outcome:
    done = subprocess.run(
        [FASCICLE, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=seconds
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def wait_until(
    condition: Callable[[], Any], *, seconds: float = 60, what: str = "the condition", interval: float = 0.2
) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(interval)
    return value


class Process:
    """A command that runs until it is told to stop; what it says goes to a file."""

    def __init__(self, argv: list[str | Path], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as file:
            self._popen = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._popen.poll() is None:
            self._popen.terminate()
            try:
                self._popen.wait(20)
            except subprocess.TimeoutExpired:
                self._popen.kill()
                self._popen.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A drain takes its time, and others may be at work in this event loop.
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def said(self) -> str:
        return self.log.read_text()

    def has_ended(self) -> bool:
        return self._popen.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait()

    def exit_code(self, *, within: float = 30) -> int:
        return self._popen.wait(within)

    def until_said(self, text: str, *, times: int = 1, seconds: float = 60) -> None:
        def there() -> bool:
            assert not self.has_ended() or self.said().count(text) >= times, self.said()
            return self.said().count(text) >= times

        wait_until(there, seconds=seconds, what=f"{text!r} from {self.log.name}")


def start_up(folder: Path, env: Mapping[str, str], *options: str) -> Process:
    """`fascicle up` on `folder`/data, ready."""
    process = Process([FASCICLE, "up", *options], cwd=folder, env=env, log=folder / "up.log")
    try:
        process.until_said("try: fascicle status", times=process.said().count("stopped  ") + 1, seconds=120)
    except BaseException:
        process.__exit__(None, None, None)  # a stack that nobody ends slows down all that comes after
        raise
    return process


def start_worker(folder: Path, env: Mapping[str, str], *options: str) -> Process:
    argv: list[str | Path] = [sys.executable, ROOT / "worker.py", *options]
    return Process(argv, cwd=folder, env=env, log=folder / "worker.log")


def child_pid(data: Path, name: str) -> int:
    """The process that `fascicle up` runs under that name now."""
    return int((data / "run" / f"{name}.lock").read_text())


def answer(port: int, path: str) -> httpx.Response | None:
    try:
        address = f"http://127.0.0.1:{port}{path}"
        return httpx.get(address, timeout=10, verify=NO_CERTIFICATES, trust_env=False)
    except httpx.TransportError:
        return None


def processes_of(folder: Path) -> list[int]:
    """What runs with the folder in its command line or as its working directory."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                place = str((process / "cwd").readlink())
                if str(folder) in (process / "cmdline").read_text() or place.startswith(str(folder)):
                    found.append(int(process.name))
    return found


def send_to_all(pid: int, number: signal.Signals) -> None:
    """A signal to a process and its children: a frozen PostgreSQL has no backend left that answers."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for member in (pid, *map(int, children)):
        os.kill(member, number)
