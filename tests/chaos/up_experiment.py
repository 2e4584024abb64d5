"""The experiment with a whole `fascicle up`, on which chapters keep coming while things happen to it."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from fascicle.domain.errors import FascicleError
from fascicle.embedded import read_running_stack
from simulator.series import Series
from simulator.server import RunningSimulator
from tests.chaos.books import Chapter, is_settled, read_books
from tests.chaos.experiments import FOLLOWERS, HISTORY, RECOVERY_SECONDS, Ingest, tellings_of
from tests.harness import Harness, eventually, open_harness, settings_for
from tests.starter.commandline import Process, child_pid, start_up
from tests.starter.conftest import environment_for
from tests.vaults import TOKEN_KEY

EVERY_SECOND = {f"FASCICLE_CADENCE_{name}_SECONDS": "1" for name in ("HOT", "WARM", "COLD")}
# From the restart on it is the sweep that notices: a source that misses its wake-up sleeps for a month.
SWEPT = {"FASCICLE_SWEEP_SECONDS": "0.4"}


@dataclass(frozen=True)
class UpReport:
    exit_code: int
    after_the_restart: Ingest
    after_the_kills: Ingest
    said: str


class UpExperiment:
    def __init__(self, folder: Path, simulator: RunningSimulator, cleanup: AsyncExitStack) -> None:
        self._folder = folder
        self._simulator = simulator
        self._cleanup = cleanup
        # The harness seals channels with this key, and the worker opens them.
        keys = {"FASCICLE_TOKEN_KEYS": TOKEN_KEY}
        self._env = environment_for(folder, simulator, **EVERY_SECOND, **SWEPT, **keys)
        self._series: list[Series] = []
        self._released: set[Chapter] = set()

    async def run(self) -> UpReport:
        """First a polite stop and a start, then the kills, on one and the same stack."""
        self._folder.mkdir()
        up = await self._start()
        harness = await self._open_harness()
        await self._onboard(harness)
        code, up = await self._stop_and_start(harness, up)
        after_the_restart = await self._outcome(harness)
        await self._kill_the_servers(harness)
        after_the_kills = await self._outcome(harness)
        return UpReport(code, after_the_restart, after_the_kills, up.said())

    async def _start(self) -> Process:
        starting = asyncio.create_task(asyncio.to_thread(start_up, self._folder, self._env))
        # Whoever is cancelled meanwhile leaves a stack behind that is still to come, and to be ended.
        self._cleanup.push_async_callback(_end, starting)
        return await asyncio.shield(starting)

    async def _open_harness(self) -> Harness:
        stack = read_running_stack(self._folder / "data")
        assert stack is not None
        client = await Client.connect(str(stack["TEMPORAL_ADDRESS"]), data_converter=pydantic_data_converter)
        settings = settings_for(str(stack["DATABASE_URL"]), self._simulator)
        return await self._cleanup.enter_async_context(open_harness(settings, client, self._simulator))

    async def _onboard(self, harness: Harness) -> None:
        for title in ("Anvil", "Bellows"):
            self._series.append(harness.series(title, chapters=HISTORY))
            source = await harness.add_and_sync(self._series[-1])
            for name in FOLLOWERS:
                await harness.follow(name, source["series_id"])

    async def _release(self, harness: Harness, count: int) -> None:
        """One chapter after the other, of the series in turn."""
        for series in islice(cycle(self._series), count):
            upload = harness.release(series)
            self._released.add((series.title, str(upload.chapter)))
            await asyncio.sleep(0.5)

    async def _stop_and_start(self, harness: Harness, up: Process) -> tuple[int, Process]:
        releasing = asyncio.create_task(self._release(harness, count=10))
        await asyncio.sleep(1.5)
        up.signal(signal.SIGTERM)
        code = await asyncio.to_thread(up.exit_code)
        again = await self._start()
        await releasing
        return code, again

    async def _kill_the_servers(self, harness: Harness) -> None:
        """Temporal, then PostgreSQL, then both at once."""
        releasing = asyncio.create_task(self._release(harness, count=16))
        for names in (("temporal",), ("postgres",), ("temporal", "postgres")):
            await asyncio.sleep(2.5)
            for name in names:
                os.kill(child_pid(self._folder / "data", name), signal.SIGKILL)
        await releasing

    async def _outcome(self, harness: Harness) -> Ingest:
        history = {(s.title, str(n)) for s in self._series for n in range(1, HISTORY + 1)}
        everything, tellings = self._released | history, tellings_of(self._released)

        async def settled() -> bool:
            with suppress(FascicleError):  # the database is on its way back
                return await is_settled(harness, len(everything), len(tellings))
            return False

        await eventually(settled, within=RECOVERY_SECONDS, what="everything in and told")
        return Ingest(True, everything, tellings, await read_books(harness))


async def _end(starting: asyncio.Task[Process]) -> None:
    if not starting.done() or starting.exception() is None:
        async with await starting:
            pass
