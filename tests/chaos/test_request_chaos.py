"""Whenever its worker is killed, a request ends once, is told once, and pays for no answer twice (R3, X1)."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from fascicle.embedded import EmbeddedPostgres, EmbeddedTemporal
from simulator.server import RunningSimulator
from tests.chaos.request_books import RequestBooks
from tests.chaos.request_experiment import SETTINGS, RequestExperiment, RequestReport
from tests.chaos.request_moments import Moment, plan
from tests.databases import Databases
from tests.requests import model_settings
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import open_site


class Experiments:
    """Side by side, since most of their time is waiting until a dead process is noticed."""

    def __init__(
        self,
        postgres: EmbeddedPostgres,
        databases: Databases,
        address: str,
        folders: pytest.TempPathFactory,
        workers: ForkedWorkers,
    ) -> None:
        self._postgres = postgres
        self._databases = databases
        self._address = address
        self._folders = folders
        self._workers = workers

    async def run(self, moments: Sequence[Moment]) -> RequestReport:
        async with AsyncExitStack() as cleanup:
            name = await self._databases.take()
            cleanup.push_async_callback(self._databases.give_back, name)
            simulator = cleanup.enter_context(RunningSimulator())
            url = self._postgres.url.replace("/fascicle?", f"/{name}?")
            settings = model_settings(simulator, **SETTINGS)
            folder = self._folders.mktemp("requests")
            site = await cleanup.enter_async_context(
                open_site(self._address, url, simulator, folder, **settings)
            )
            return await RequestExperiment(site, self._workers, cleanup, moments).run()


@pytest.fixture(scope="module")
async def reports(
    postgres: EmbeddedPostgres,
    databases: Databases,
    temporal: EmbeddedTemporal,
    tmp_path_factory: pytest.TempPathFactory,
    workers: ForkedWorkers,
    pytestconfig: pytest.Config,
) -> list[RequestReport]:
    moments = plan(int(pytestconfig.getoption("--chaos-requests")))
    experiments = Experiments(postgres, databases, temporal.address, tmp_path_factory, workers)
    halves = [[m for m in moments if m.unreported is kind] for kind in (False, True)]
    return await asyncio.gather(*(experiments.run(half) for half in halves if half))


def _books(report: RequestReport) -> RequestBooks:
    assert report.books is not None
    return report.books


def test_r3_no_answer_is_paid_for_twice_whoever_is_killed(reports: list[RequestReport]) -> None:
    for report in reports:
        print(f"\n{report.summary()}")  # noqa: T201 - `make chaos` shows it
        books = _books(report)
        assert report.kills >= 1
        assert len(report.missed) * 10 <= len(report.moments), report.missed
        assert not books.repeated
        assert not books.uncounted, "what the day may cost covers what was lost"
        assert not books.calls["open"], "nobody is thought to be asking any more"


def test_x1_every_request_ends_once_whoever_is_killed(reports: list[RequestReport]) -> None:
    for report in reports:
        assert set(_books(report).fates) == set(report.moments)
        for request_id, fate in _books(report).fates.items():
            moment = report.moments[request_id]
            fails = moment.shape == "short"
            ended = ("failed", 0, ("FAILED",)) if fails else ("succeeded", 1, ("COMPLETED",))
            assert (fate.status, fate.summaries, fate.workflows) == ended, (moment.name, fate)


def test_x1_every_subscriber_is_told_once_or_in_doubt_never_twice(reports: list[RequestReport]) -> None:
    for report in reports:
        for request_id, fate in _books(report).fates.items():
            moment = report.moments[request_id]
            event = "failed" if moment.shape == "short" else "done"
            # `sent` is one statement: once PostgreSQL has it, nobody needs to live for it to hold.
            in_the_middle = not moment.unreported and moment.at == "sink"
            if in_the_middle and moment.name not in report.missed:
                # Nobody can know whether it arrived: a person is asked, and it is never sent again.
                assert fate.told == ((event, "unconfirmed", True),), (moment.name, fate)
                assert fate.messages == (0 if moment.held == "before" else 1), (moment.name, fate)
            else:
                assert fate.told == ((event, "sent", False),), (moment.name, fate)
                assert fate.messages == 1, (moment.name, fate)
