"""Real servers for the whole session; a database of its own for each test."""

import asyncio
import gc
import logging
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import asyncpg
import hypothesis
import pytest
import structlog
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import _Definition
from xdist.scheduler import LoadFileScheduling

from fascicle.domain.names import SEARCH_ATTRIBUTES
from fascicle.embedded import DataFolder, EmbeddedPostgres, EmbeddedTemporal, Supervisor
from fascicle.sandbox import Sandbox
from fascicle.storage.database import open_engine, upgrade
from fascicle.temporal.correlation import CorrelationInterceptor
from simulator.server import RunningSimulator
from tests.databases import Databases
from tests.harness import Harness, open_harness, settings_for, terminate_everything

# Timers can be skipped, skipped ones fire at once, and continue-as-new comes early enough to be tested.
TEMPORAL_FOR_TESTS = {
    "frontend.workflowTimeSkippingEnabled": "true",
    "history.timerProcessorMaxTimeShift": '"10ms"',
    "limit.historyCount.suggestContinueAsNew": "400",
}
# Their file need not survive anything, and with more of it in memory they take a fifth less CPU.
_PRAGMAS_FOR_TESTS = ("journal_mode=WAL", "synchronous=OFF", "cache_size=-64000")
# A handful of Temporal servers share few cores here: on one thread each, that rarely looks for garbage,
# they take two thirds of the CPU.
_GO_FOR_TESTS = {"GOMAXPROCS": "1", "GOGC": "800"}


# Fewer examples than the hundred that are usual: the suite runs often. A slow machine is no failure.
hypothesis.settings.register_profile("suite", max_examples=30, deadline=None)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write tests/histories/recorded anew")
    parser.addoption("--chaos-posts", type=int, default=9, help="posts that go out through kills and faults")
    parser.addoption("--chaos-fics", type=int, default=6, help="fics that are read while workers are killed")
    parser.addoption(
        "--chaos-requests", type=int, default=24, help="requests whose workers are killed at a moment of each"
    )


def pytest_configure(config: pytest.Config) -> None:
    # As root, a second session's chmod of pytest's shared folder would lock PostgreSQL out of the first's.
    if config.option.basetemp is None:
        folder = tempfile.mkdtemp(prefix="fascicle-tests-")
        config.option.basetemp = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    for name, value in _GO_FOR_TESTS.items():
        os.environ.setdefault(name, value)


_TESTS = Path(__file__).parent
# The longest first, so that no process is left alone with them in the end.
_FIRST = ("starter", "chaos", "workflows", "histories")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {folder: place for place, folder in enumerate(_FIRST)}
    items.sort(key=lambda item: places.get(item.path.relative_to(_TESTS).parts[0], len(_FIRST)))


# Share one `fascicle up`, which takes 15 seconds of CPU to start; the others start their own processes.
_WITHOUT_SHARED_STACK = ("test_account_connect.py", "test_up.py", "test_worker.py")


def _share_of_a_process(nodeid: str) -> str:
    """A file's tests stay together, and so do the files whose tests need the shared stack."""
    file = PurePosixPath(nodeid.partition("::")[0])
    shares = file.parts[:2] == ("tests", "starter") and file.name not in _WITHOUT_SHARED_STACK
    return "tests/starter" if shares else str(file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _share_of_a_process
    return scheduler


def pytest_collection_finish() -> None:
    # As the worker does: what was imported and collected is no garbage.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 100)


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """The suite must not depend on the developer's environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FASCICLE_", "TEMPORAL_", "OTEL_")) or name == "DATABASE_URL":
                patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def _tracebacks_are_plain() -> None:
    """Rich's, with all local variables, take more CPU than the tests of many failures they are logged by."""
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])


@pytest.fixture(autouse=True)
def _logs_stay_as_they_are() -> Iterator[None]:
    """A command that runs in this process sets them up for itself; later tests want to read theirs."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    if structlog.get_config() != before:
        structlog.configure(**before)
        root.handlers[:] = handlers
        root.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def _workflows_are_tried_out_once() -> Iterator[None]:
    """Every Worker runs every workflow module in the sandbox when it is made: 75 ms, the same each time."""
    tried: set[type] = set()
    prepare = SandboxedWorkflowRunner.prepare_workflow

    def prepare_once(runner: SandboxedWorkflowRunner, definition: _Definition) -> None:
        if definition.cls not in tried:
            prepare(runner, definition)
            tried.add(definition.cls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SandboxedWorkflowRunner, "prepare_workflow", prepare_once)
        yield


@pytest.fixture(scope="session")
async def supervisor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Supervisor]:
    with DataFolder(tmp_path_factory.mktemp("servers") / "data") as folder:
        async with Supervisor(folder.path) as running:
            yield running
    # The SDK's threads are still winding down; leaving at once sometimes aborts the interpreter.
    await asyncio.sleep(0.5)


@pytest.fixture(scope="session")
async def postgres(supervisor: Supervisor) -> EmbeddedPostgres:
    server = EmbeddedPostgres(supervisor.folder)
    await server.start(supervisor)
    return server


@pytest.fixture(scope="session")
async def template(postgres: EmbeddedPostgres) -> str:
    """A migrated database that tests get copies of."""
    engine = open_engine(postgres.url)
    await upgrade(engine)
    await engine.dispose()
    # Nobody pulls the plug on these databases; those that are killed are other servers.
    connection = await asyncpg.connect(_maintenance(postgres))
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        await connection.execute(f"alter system set {setting} = off")
    await connection.execute("select pg_reload_conf()")
    await connection.close()
    return "fascicle"


def _maintenance(postgres: EmbeddedPostgres) -> str:
    plain = postgres.url.replace("postgresql+asyncpg", "postgresql")
    return plain.replace("/fascicle?", "/postgres?")


@pytest.fixture(scope="session")
async def databases(postgres: EmbeddedPostgres, template: str) -> AsyncIterator[Databases]:
    kept = Databases(_maintenance(postgres), template)
    yield kept
    await kept.close()


@pytest.fixture
async def database_url(postgres: EmbeddedPostgres, databases: Databases) -> AsyncIterator[str]:
    """An empty database for this test alone."""
    name = await databases.take()
    yield postgres.url.replace("/fascicle?", f"/{name}?")
    await databases.give_back(name)


@pytest.fixture(scope="session")
async def temporal(supervisor: Supervisor) -> EmbeddedTemporal:
    server = EmbeddedTemporal(
        supervisor.folder,
        port=0,
        ui_port=0,
        search_attributes=dict.fromkeys(SEARCH_ATTRIBUTES, "Keyword"),
        dynamic_config=TEMPORAL_FOR_TESTS,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fascicle.embedded.temporal._PRAGMAS", _PRAGMAS_FOR_TESTS)
        await server.start(supervisor)
    return server


@pytest.fixture(scope="session")
async def session_client(temporal: EmbeddedTemporal) -> Client:
    return await Client.connect(
        temporal.address,
        data_converter=pydantic_data_converter,
        identity="tests",
        interceptors=[CorrelationInterceptor()],
    )


@pytest.fixture
async def client(session_client: Client) -> AsyncIterator[Client]:
    yield session_client
    await terminate_everything(session_client)


@pytest.fixture(scope="session")
def shared_simulator() -> Iterator[RunningSimulator]:
    with RunningSimulator() as running:
        yield running


@pytest.fixture
def simulator(shared_simulator: RunningSimulator) -> RunningSimulator:
    """Empty, without faults. Starting one takes a quarter of a second, so they share it."""
    shared_simulator.simulation.reset()
    return shared_simulator


@pytest.fixture
def overrides() -> dict[str, Any]:
    """Settings that a test module or a test changes by overriding this fixture."""
    return {}


@pytest.fixture(scope="session")
async def sandbox() -> AsyncIterator[Sandbox]:
    """To start one of its processes takes half a second, so all tests share them."""
    async with Sandbox(1) as opened:
        yield opened


@pytest.fixture
async def harness(
    database_url: str,
    client: Client,
    simulator: RunningSimulator,
    overrides: dict[str, Any],
    sandbox: Sandbox,
    tmp_path: Path,
) -> AsyncIterator[Harness]:
    """Everything but workers: for tests that start and stop them."""
    settings = settings_for(database_url, simulator, **{"files_dir": tmp_path / "files", **overrides})
    async with open_harness(settings, client, simulator, sandbox) as opened:
        yield opened


@pytest.fixture
async def stack(harness: Harness) -> AsyncIterator[Harness]:
    """Everything, workers running."""
    async with harness.workers():
        yield harness


@pytest.fixture
def fixtures_folder() -> Path:
    """Recorded upstream answers, beside the project; they are other people's and not part of it."""
    folder = Path(__file__).parents[2] / "shared" / "fixtures"
    if not folder.is_dir():
        pytest.skip("no ../shared/fixtures here: recorded answers are not part of the project")
    return folder
