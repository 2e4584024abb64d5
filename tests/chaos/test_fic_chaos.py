"""Whoever is killed, the archive is never asked more often than agreed, nobody is told twice (F3, F5, X1)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from fascicle.embedded import EmbeddedPostgres, EmbeddedTemporal
from simulator.server import RunningSimulator
from tests.chaos.books import assert_all_in_once, assert_all_told_once
from tests.chaos.fic_experiment import FLOOR, RETRY_AFTER, SETTINGS, FicExperiment, FicReport
from tests.chaos.fic_moments import DELIVERIES_AT_ONCE, Fate, MomentsExperiment, MomentsReport
from tests.databases import Databases
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site, open_site

# Between the end of one request's wait and its arrival, and the same of the next, lie a few milliseconds.
MEASURING = 0.005


class Experiments:
    """Started together, since most of their time is waiting until a dead process is noticed."""

    def __init__(
        self,
        postgres: EmbeddedPostgres,
        databases: Databases,
        address: str,
        folders: pytest.TempPathFactory,
        workers: ForkedWorkers,
        fics: int,
    ) -> None:
        self._postgres = postgres
        self._databases = databases
        self._address = address
        self._folders = folders
        self._workers = workers
        self._fics = fics
        self.queue = asyncio.create_task(self._queue())
        self.moments = asyncio.create_task(self._moments())

    async def end(self) -> None:
        for task in (self.queue, self.moments):
            task.cancel()
        await asyncio.gather(self.queue, self.moments, return_exceptions=True)

    async def _queue(self) -> FicReport:
        async with AsyncExitStack() as cleanup:
            site = await self._site(cleanup)
            return await FicExperiment(site, self._workers, cleanup, fics=self._fics, seed=5).run()

    async def _moments(self) -> MomentsReport:
        async with AsyncExitStack() as cleanup:
            site = await self._site(
                cleanup, max_concurrent_deliveries=DELIVERIES_AT_ONCE, fic_tell_start=False
            )
            return await MomentsExperiment(site, self._workers, cleanup).run()

    async def _site(self, cleanup: AsyncExitStack, **settings: Any) -> Site:
        name = await self._databases.take()
        cleanup.push_async_callback(self._databases.give_back, name)
        simulator = cleanup.enter_context(RunningSimulator())
        url = self._postgres.url.replace("/fascicle?", f"/{name}?")
        settings = SETTINGS | {"ao3_url": simulator.site_url("ao3")} | settings
        folder = self._folders.mktemp("fics")
        return await cleanup.enter_async_context(open_site(self._address, url, simulator, folder, **settings))


@pytest.fixture(scope="module")
async def experiments(
    postgres: EmbeddedPostgres,
    databases: Databases,
    temporal: EmbeddedTemporal,
    tmp_path_factory: pytest.TempPathFactory,
    workers: ForkedWorkers,
    pytestconfig: pytest.Config,
) -> AsyncIterator[Experiments]:
    fics = int(pytestconfig.getoption("--chaos-fics"))
    started = Experiments(postgres, databases, temporal.address, tmp_path_factory, workers, fics)
    yield started
    await started.end()


async def test_f3_the_archive_is_never_asked_more_often_than_agreed(experiments: Experiments) -> None:
    report = await experiments.queue
    print(f"\n{report.summary()}")  # noqa: T201 - `make chaos` shows it
    assert report.kills >= 4
    assert len(report.lost) >= 2, "workers were killed while they waited for an answer"
    # Above, only that it was the floor that counted: a busy machine takes its time on top.
    assert FLOOR - MEASURING <= min(report.gaps()) < 5 * FLOOR
    assert min(report.rests()) >= FLOOR - MEASURING, "nobody asks while another's request is under way"
    refusals = report.after_refusals()
    assert refusals
    assert min(refusals) >= RETRY_AFTER
    assert not report.asked_for_nothing()


async def test_x1_every_fic_is_read_and_told_once_whoever_is_killed(experiments: Experiments) -> None:
    report = await experiments.queue
    assert report.books is not None
    assert_all_in_once(report.books, report.fics)
    assert_all_told_once(report.books, report.tellings | report.starts, certain=False)
    assert len({key for _, key, _ in report.starts}) == len(report.fics), "every start was told to somebody"
    assert not report.doubts_without_a_letter


SENT = [("sent", False)]
IN_DOUBT = [("unconfirmed", True)]
FATES = {
    # No request was answered before the worker died: there must be another.
    "asking": Fate("done", requests=2, messages=1, deliveries=SENT),
    "answered": Fate("done", requests=2, messages=1, deliveries=SENT),
    "untold": Fate("done", requests=1, messages=1, deliveries=SENT),
    # Nobody can know whether it arrived: a person is asked, and it is never sent again.
    "message-leaving": Fate("done", requests=1, messages=0, deliveries=IN_DOUBT),
    "message-left": Fate("done", requests=1, messages=1, deliveries=IN_DOUBT),
}


@pytest.mark.parametrize("moment", FATES)
async def test_x1_a_worker_killed_at_a_moment_of_a_fics_life(experiments: Experiments, moment: str) -> None:
    report = await experiments.moments
    assert report.fates[moment] == FATES[moment]
    assert report.shortest_distance >= FLOOR - MEASURING
