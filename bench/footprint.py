"""The traces of the work: transitions, events and bytes in Temporal, bytes in PostgreSQL."""

import asyncio
import re
from dataclasses import dataclass, fields
from typing import Any

import httpx
from temporalio.client import Client

from bench.books import in_parallel
from bench.stack import BenchStack
from fascicle.embedded.datafolder import TEMPORAL_DATABASE

# Started, task scheduled, task begun.
_BEFORE_ITS_FIRST_TASK = 3
_LOOK_EVERY = 0.2
_PATIENCE = 300.0
# The server's own count of requests to its store.
_PERSISTENCE = re.compile(r'^persistence_requests\{.*operation="(\w+)".*\} (\S+)$', re.MULTILINE)
_READS = ("Get", "List", "Read", "Count")
# The server's own count of actions, which Temporal Cloud would charge for.
_ACTIONS = re.compile(r"^action(?:_total)?\{.*\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Footprint:
    """Totals so far; the difference of two footprints is the work in between."""

    transitions: int
    """State transitions of the given workflows."""
    events: int
    history_bytes: int
    temporal_writes: float
    """The server's requests to its store that write."""
    actions: float
    temporal_bytes: int
    wal_bytes: int
    database_bytes: int

    def since(self, earlier: "Footprint") -> "Footprint":
        return Footprint(**{f.name: getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)})


async def footprint(stack: BenchStack, workflow_ids: list[str]) -> Footprint:
    infos = await in_parallel(workflow_ids, lambda i: _info(stack.client, i))
    metrics = await _metrics(stack.temporal_metrics_url)
    stored = _PERSISTENCE.findall(metrics)
    return Footprint(
        transitions=sum(info.state_transition_count for info in infos),
        events=sum(info.history_length for info in infos),
        history_bytes=sum(info.history_size_bytes for info in infos),
        temporal_writes=sum(float(count) for name, count in stored if not name.startswith(_READS)),
        actions=sum(map(float, _ACTIONS.findall(metrics))),
        temporal_bytes=_file_bytes(stack),
        wal_bytes=int(await stack.value("select pg_current_wal_lsn() - '0/0'::pg_lsn")),
        database_bytes=await stack.value("select pg_database_size(current_database())"),
    )


async def until_all_have_run(stack: BenchStack, workflow_ids: list[str]) -> None:
    """Wait until each workflow has done its first task, because before that it has cost nothing."""
    async with asyncio.timeout(_PATIENCE):
        for workflow_id in workflow_ids:
            while (await _info(stack.client, workflow_id)).history_length <= _BEFORE_ITS_FIRST_TASK:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)


async def _info(client: Client, workflow_id: str) -> Any:
    described = await client.get_workflow_handle(workflow_id).describe()
    return described.raw_description.workflow_execution_info


async def _metrics(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as http:
        return (await http.get(url)).text


def _file_bytes(stack: BenchStack) -> int:
    database = stack.supervisor.folder / TEMPORAL_DATABASE
    files = (database, database.with_name(f"{TEMPORAL_DATABASE}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
