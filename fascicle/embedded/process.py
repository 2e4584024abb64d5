"""One child process: it is started, awaited until it answers, restarted when it dies, and stopped."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fascicle.embedded.claim import take_claim, write_holder
from fascicle.embedded.command import Command, guarded
from fascicle.embedded.errors import ProcessNotReady
from fascicle.embedded.logfile import last_lines, open_log

OnEvent = Callable[[str, str], None]

# A process of an earlier run gets this long to shut down by itself.
_PATIENCE_SECONDS = 10.0
_PROBE_INTERVAL_SECONDS = 0.03

_logger = logging.getLogger(__name__)


class RestartDelay:
    """A delay that grows with every death and is reset once the process has run for a while."""

    first, ceiling, calm = 0.2, 10.0, 60.0

    def __init__(self) -> None:
        self._next = self.first

    def after(self, ran_seconds: float) -> float:
        """Seconds to wait before the next start of a process that ran for `ran_seconds`."""
        if ran_seconds >= self.calm:
            self._next = self.first
        delay, self._next = self._next, min(self._next * 2, self.ceiling)
        return delay


class ManagedProcess:
    """Made and started by `Supervisor.start`. Events: started, died, restarted, stopped."""

    def __init__(self, command: Command, folder: Path, on_event: OnEvent) -> None:
        self.command = command
        self.log_path = folder / "logs" / f"{command.name}.log"
        self._claim_path = folder / "run" / f"{command.name}.lock"
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._launched_at = 0.0
        self._log_start = 0
        self._keeper: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the command itself while it runs; a restart changes it."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if self._process is not None and running else None

    async def start(self) -> None:
        """Returns when the process is ready; from then on it is restarted after each death until `stop`."""
        try:
            await self._launch()
        except BaseException:
            await self._end(grace_seconds=1.0)
            raise
        self._report("started")
        self._keeper = asyncio.create_task(self._keep_alive(), name=f"keeper of {self.command.name}")

    async def stop(self, grace_seconds: float) -> None:
        """Ask the process to end, wait for `grace_seconds`, then kill it and all its descendants."""
        if self._keeper is None:
            return
        self._keeper.cancel()
        await asyncio.wait([self._keeper])
        self._keeper = None
        await self._end(grace_seconds)
        self._report("stopped")

    async def _keep_alive(self) -> None:
        delay = RestartDelay()
        clock = asyncio.get_running_loop().time
        while self._process is not None:
            await self._process.wait()
            self._report("died")
            self._kill_group()
            await asyncio.sleep(delay.after(clock() - self._launched_at))
            try:
                await self._launch()
            except (ProcessNotReady, OSError) as error:
                _logger.warning("%s", error)
                self._kill_group()
            else:
                self._report("restarted")

    async def _launch(self) -> None:
        claim = await take_claim(self._claim_path, _PATIENCE_SECONDS)
        try:
            self._process = await self._spawn(claim)
            write_holder(claim, self._process.pid)
        finally:
            os.close(claim)
        await self._until_ready(self._process)

    async def _spawn(self, claim: int) -> asyncio.subprocess.Process:
        command = self.command
        self._launched_at = asyncio.get_running_loop().time()
        with await asyncio.to_thread(open_log, self.log_path) as log:
            self._log_start = log.tell()
            return await asyncio.create_subprocess_exec(
                *guarded(command.argv, command.orphan_signal, command.account),
                env=command.environment,
                cwd=command.cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Its files are private, wherever the data folder is.
                umask=0o077,
                # Its own session: Ctrl-C on the terminal reaches the supervisor only.
                start_new_session=True,
                pass_fds=(claim,),
            )

    async def _until_ready(self, process: asyncio.subprocess.Process) -> None:
        probe, seconds = self.command.ready, self.command.ready_within
        if probe is None:
            return
        try:
            async with asyncio.timeout(seconds):
                while True:
                    ready = await probe()
                    # Checked after the probe, because another program on the same port may have answered.
                    if process.returncode is not None:
                        raise self._not_ready(f"ended ({_ending(process.returncode)}) before it was ready")
                    if ready:
                        return
                    await asyncio.sleep(_PROBE_INTERVAL_SECONDS)
        except TimeoutError:
            raise self._not_ready(f"was not ready within {seconds:g} s") from None

    def _not_ready(self, what: str) -> ProcessNotReady:
        said = last_lines(self.log_path, self._log_start) or "(it wrote nothing)"
        return ProcessNotReady(f"{self.command.name} {what}. The end of {self.log_path}:\n{said}")

    async def _end(self, grace_seconds: float) -> None:
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(self.command.stop_signal)
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._process.wait()
        self._kill_group()
        await self._process.wait()
        # Once the claim is free, all descendants are gone, and their ports and files are free.
        os.close(await take_claim(self._claim_path, patience_seconds=1.0))

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._process is not None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _report(self, what: str) -> None:
        try:
            self._on_event(self.command.name, what)
        except Exception:
            _logger.exception("the listener failed on %s %s", self.command.name, what)


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
