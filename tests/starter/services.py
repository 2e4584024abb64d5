"""Worker processes on the session's servers, each set in a namespace and a database of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from fascicle.domain.names import new_id
from fascicle.embedded import choose_port
from fascicle.temporal.client import register_search_attributes
from simulator.server import RunningSimulator
from tests.harness import Harness, eventually, open_harness, settings_for
from tests.starter.commandline import Process, answer, start_worker
from tests.starter.conftest import environment_for
from tests.vaults import TOKEN_KEY


@dataclass
class Site:
    """A place for worker processes: what they need to know, and a harness to look at what they do."""

    harness: Harness
    folder: Path
    env: dict[str, str]

    @property
    def ops_port(self) -> int:
        return int(self.env["FASCICLE_OPS_PORT"])

    def start_worker(self, *options: str) -> Process:
        return start_worker(self.folder, self.env, *options)

    async def until_ready(self) -> None:
        async def ready() -> bool:
            return await self.status() == 200

        await eventually(ready, what="a ready worker", within=90)

    async def status(self) -> int | None:
        """The status of /ready."""
        got = await asyncio.to_thread(answer, self.ops_port, "/ready")
        return got.status_code if got else None

    async def readiness(self) -> dict[str, Any]:
        got = await asyncio.to_thread(answer, self.ops_port, "/ready")
        assert got is not None, "no answer from the ops pages"
        shown: dict[str, Any] = got.json()
        return shown


async def new_namespace(address: str) -> Client:
    """A client of a namespace that nobody else uses."""
    client = await Client.connect(address, namespace=new_id(), data_converter=pydantic_data_converter)
    await client.workflow_service.register_namespace(
        RegisterNamespaceRequest(
            namespace=client.namespace, workflow_execution_retention_period=Duration(seconds=86400)
        )
    )

    async def is_usable() -> bool:
        try:
            await register_search_attributes(client)
        except RPCError:
            return False
        return True

    await eventually(is_usable, what="the namespace")
    return client


@asynccontextmanager
async def open_site(
    address: str, database_url: str, simulator: RunningSimulator, folder: Path, **settings: Any
) -> AsyncIterator[Site]:
    client = await new_namespace(address)
    folder.mkdir(exist_ok=True)
    env = environment_for(
        folder,
        simulator,
        DATABASE_URL=database_url,
        TEMPORAL_ADDRESS=address,
        TEMPORAL_NAMESPACE=client.namespace,
        FASCICLE_TOKEN_KEYS=TOKEN_KEY,
        **{f"FASCICLE_{name.upper()}": _text(value) for name, value in settings.items()},
    )
    env["FASCICLE_OPS_PORT"] = str(choose_port(0, set()))
    async with open_harness(settings_for(database_url, simulator, **settings), client, simulator) as harness:
        yield Site(harness, folder, env)


def _text(value: Any) -> str:
    return ",".join(str(part) for part in value) if isinstance(value, list) else str(value)
