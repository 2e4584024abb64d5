"""The stack as `fascicle up` runs it, each part in its own process, in a temporary folder."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text
from temporalio.client import Client

from fascicle.domain.names import SEARCH_ATTRIBUTES
from fascicle.embedded import (
    Command,
    DataFolder,
    EmbeddedPostgres,
    EmbeddedTemporal,
    PortBook,
    Supervisor,
    http_status,
)
from fascicle.services.dependencies import Dependencies, open_dependencies
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction, upgrade
from fascicle.temporal.client import connect
from simulator.client import SimulatorControl
from simulator.deviantart.records import Options

_PROJECT = Path(__file__).parents[1]
_OUR_SETTINGS = ("FASCICLE_", "TEMPORAL_", "DATABASE_URL")


@dataclass(frozen=True)
class BenchStack:
    supervisor: Supervisor
    dependencies: Dependencies
    client: Client
    simulator: SimulatorControl
    simulator_url: str
    database_url: str
    temporal_metrics_url: str

    @asynccontextmanager
    async def worker(
        self, name: str = "worker", queues: str | None = None, /, **settings: Any
    ) -> AsyncIterator[None]:
        """A worker process with these settings, ready to work; `queues` as on its command line."""
        folder = self.supervisor.folder
        port = PortBook(folder).choose(f"ops of {name}")

        async def ready() -> bool:
            return await http_status(port, "/ready") == 200

        environment = {f"FASCICLE_{name.upper()}": str(value) for name, value in settings.items()}
        command = Command(
            name=name,
            argv=[sys.executable, "-m", "worker", *(("--queues", queues) if queues else ())],
            env={**environment, "FASCICLE_OPS_PORT": str(port)},
            inherits=True,
            # Not the project's folder, which may contain the developer's `.env`.
            cwd=folder,
            ready=ready,
        )
        process = await self.supervisor.start(command)
        try:
            yield
        finally:
            await process.stop(grace_seconds=10)

    async def value(self, sql: str, **parameters: Any) -> Any:
        async with transaction(self.dependencies.engine) as connection:
            return await connection.scalar(text(sql), parameters)


@asynccontextmanager
async def open_stack(
    temporal_config: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[BenchStack]:
    """Start PostgreSQL, Temporal and the simulator; each bench starts its own workers."""
    with tempfile.TemporaryDirectory(prefix="fascicle-bench-") as temporary:
        settle_environment(Path(temporary))
        with DataFolder(Path(temporary) / "data") as folder:
            async with Supervisor(folder.path) as supervisor:
                servers = await _start_servers(supervisor, temporal_config)
                async with (
                    open_dependencies(Settings()) as dependencies,
                    SimulatorControl(servers.simulator_url) as simulator,
                ):
                    await upgrade(dependencies.engine)
                    client = await connect(dependencies.settings.payload)
                    yield BenchStack(
                        supervisor,
                        dependencies,
                        client,
                        simulator,
                        servers.simulator_url,
                        servers.database_url,
                        servers.temporal_metrics_url,
                    )


def settle_environment(folder: Path) -> None:
    """Remove the developer's settings from the environment, because child processes inherit it."""
    for name in list(os.environ):
        if name.startswith(_OUR_SETTINGS):
            del os.environ[name]
    os.environ["PYTHONPATH"] = str(_PROJECT)
    # Keep compiled modules, as in production, but not in the project's folders.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")


@dataclass(frozen=True)
class _Servers:
    database_url: str
    simulator_url: str
    temporal_metrics_url: str


async def _start_servers(supervisor: Supervisor, temporal_config: Mapping[str, str]) -> _Servers:
    folder = supervisor.folder
    postgres = EmbeddedPostgres(folder)
    await postgres.start(supervisor)
    temporal = EmbeddedTemporal(
        folder,
        port=0,
        ui_port=0,
        search_attributes=dict.fromkeys(SEARCH_ATTRIBUTES, "Keyword"),
        dynamic_config=temporal_config,
    )
    await temporal.start(supervisor)
    simulator_url = await start_simulator(supervisor)
    # Every request still passes the gate; only the distance is set to 0.
    os.environ.update(
        {
            "DATABASE_URL": postgres.url,
            "TEMPORAL_ADDRESS": temporal.address,
            "FASCICLE_MANGADEX_URL": f"{simulator_url}/mangadex",
            "FASCICLE_MANGADEX_INTERVAL_SECONDS": "0",
            "FASCICLE_DATA_DIR": str(folder),
            "FASCICLE_DEVIANTART_URL": f"{simulator_url}/deviantart",
            "FASCICLE_DEVIANTART_CLIENT_ID": Options().client_id,
            "FASCICLE_DEVIANTART_CLIENT_SECRET": Options().client_secret,
            "FASCICLE_AO3_URL": f"{simulator_url}/ao3",
            "FASCICLE_AO3_INTERVAL_SECONDS": "0",
            "FASCICLE_AO3_THINK_SECONDS": "0",
            "FASCICLE_FEED_INTERVAL_SECONDS": "0",
            "FASCICLE_ENRICH_INTERVAL_SECONDS": "0",
            "FASCICLE_ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        }
    )
    return _Servers(postgres.url, simulator_url, temporal.metrics_url)


async def start_simulator(supervisor: Supervisor) -> str:
    port = await asyncio.to_thread(PortBook(supervisor.folder).choose, "simulator")

    async def ready() -> bool:
        return await http_status(port, "/_sim/health") == 200

    argv = [sys.executable, "-m", "simulator", "--port", str(port)]
    await supervisor.start(
        Command(name="simulator", argv=argv, inherits=True, cwd=supervisor.folder, ready=ready)
    )
    return f"http://127.0.0.1:{port}"
