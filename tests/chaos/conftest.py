"""All experiments run side by side: most of their time is waiting until a dead process is noticed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fascicle.domain.names import new_id
from fascicle.embedded import EmbeddedPostgres, EmbeddedTemporal
from simulator.server import RunningSimulator
from tests.chaos.experiments import (
    Backfill,
    Ingest,
    kill_the_worker_in_a_backfill,
    kill_the_worker_while_ingesting,
)
from tests.chaos.feed_experiment import SETTINGS as FEED_SETTINGS
from tests.chaos.feed_experiment import FeedExperiment, FeedReport
from tests.chaos.up_experiment import UpExperiment, UpReport
from tests.starter.commandline import clean_environment
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site, open_site

MOMENTS = ("storing", "sending", "seed 1")


class Experiments:
    """Started together; a test awaits the one it is about."""

    def __init__(
        self,
        postgres: EmbeddedPostgres,
        template: str,
        address: str,
        folder: Path,
        workers: ForkedWorkers,
    ) -> None:
        self._workers = workers
        self._postgres = postgres
        self._template = template
        self._address = address
        self._folder = folder
        self.backfill = asyncio.create_task(self._backfill())
        self.under_up = asyncio.create_task(self._under_up())
        self.feeds = asyncio.create_task(self._feeds())
        self.ingests = {moment: asyncio.create_task(self._ingest(moment)) for moment in MOMENTS}

    async def end(self) -> None:
        tasks = [self.backfill, self.under_up, self.feeds, *self.ingests.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _backfill(self) -> Backfill:
        async with self._site("backfill") as site:
            return await kill_the_worker_in_a_backfill(site, self._workers)

    async def _ingest(self, moment: str) -> Ingest:
        async with self._site(moment.replace(" ", "-")) as site:
            return await kill_the_worker_while_ingesting(site, self._workers, moment)

    async def _feeds(self) -> FeedReport:
        async with self._site("feeds", **FEED_SETTINGS) as site:
            return await FeedExperiment(site, self._workers).run()

    async def _under_up(self) -> UpReport:
        with RunningSimulator() as simulator:
            async with AsyncExitStack() as cleanup:
                return await UpExperiment(self._folder / "up", simulator, cleanup).run()

    @asynccontextmanager
    async def _site(self, name: str, **settings: Any) -> AsyncIterator[Site]:
        async with self._database() as url:
            with RunningSimulator() as simulator:
                folder = self._folder / name
                async with open_site(self._address, url, simulator, folder, **settings) as site:
                    yield site

    @asynccontextmanager
    async def _database(self) -> AsyncIterator[str]:
        """A migrated database for one experiment."""
        name = f"chaos_{new_id()}"
        plain = self._postgres.url.replace("postgresql+asyncpg", "postgresql")
        connection = await asyncpg.connect(
            plain.replace("/fascicle?", "/postgres?"), server_settings={"idle_session_timeout": "0"}
        )
        await connection.execute(f"create database {name} template {self._template}")
        yield self._postgres.url.replace("/fascicle?", f"/{name}?")
        await connection.execute(f"drop database {name} with (force)")
        await connection.close()


@pytest.fixture(scope="session")
def workers() -> Iterator[ForkedWorkers]:
    forked = ForkedWorkers(clean_environment())
    yield forked
    forked.close()


@pytest.fixture(scope="session")
async def experiments(
    postgres: EmbeddedPostgres,
    template: str,
    temporal: EmbeddedTemporal,
    tmp_path_factory: pytest.TempPathFactory,
    workers: ForkedWorkers,
) -> AsyncIterator[Experiments]:
    folder = tmp_path_factory.mktemp("chaos")
    started = Experiments(postgres, template, temporal.address, folder, workers)
    yield started
    await started.end()
