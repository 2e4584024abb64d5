"""Worker versioning, switched on: who gets work, and who is told why nothing runs (X6)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fascicle.domain.names import FETCH_QUEUE, MAIN_QUEUE, TASK_QUEUES
from fascicle.embedded import EmbeddedTemporal
from fascicle.settings.settings import Settings
from fascicle.temporal.deployment import (
    QueueState,
    make_current,
    make_unversioned_current,
    queue_state,
    waits_for_its_turn,
)
from simulator.server import RunningSimulator
from starter.operations.doctor import _examine_server
from tests.harness import Harness, eventually, open_harness, settings_for
from tests.starter.services import new_namespace

ONE, TWO, NONE = ("fascicle", "1"), ("fascicle", "2"), ("", "")


@pytest.mark.parametrize(
    ("workers", "current", "remedy"),
    [
        ((), {NONE}, None),
        ((NONE,), {NONE}, None),
        ((ONE, TWO), {ONE}, None),
        ((TWO,), {ONE, TWO}, None),
        ((ONE,), {NONE}, "--deployment-name fascicle --build-id 1"),
        ((TWO,), {ONE}, "--deployment-name fascicle --build-id 2"),
        ((NONE,), {ONE}, "--deployment-name fascicle --unversioned"),
    ],
)
def test_x6_workers_that_get_no_work_are_told_what_to_do(
    workers: tuple[tuple[str, str], ...], current: set[tuple[str, str]], remedy: str | None
) -> None:
    trouble = QueueState(workers, frozenset(current)).trouble()
    assert (trouble or "").endswith(remedy or "")
    assert (trouble is None) == (remedy is None)


async def test_x6_work_goes_to_the_version_that_is_current(
    temporal: EmbeddedTemporal, database_url: str, simulator: RunningSimulator
) -> None:
    client = await new_namespace(temporal.address)

    def settings(build: str) -> Settings:
        return settings_for(database_url, simulator, worker_versioning=True, build_id=build)

    @asynccontextmanager
    async def build(number: str) -> AsyncIterator[Harness]:
        async with open_harness(settings(number), client, simulator) as harness, harness.workers():
            yield harness

    async with build("1") as stack:
        source = await stack.add(stack.series())
        await eventually(lambda: _is_known(stack), what="the workers")
        doctor = {check["check"]: check["state"] for check in await _examine_server(client)}
        assert {doctor[f"workers on {queue}"] for queue in TASK_QUEUES} == {"FAIL"}
        said = await waits_for_its_turn(client, MAIN_QUEUE, settings("1"))
        await asyncio.to_thread(_do_as_told, str(said), temporal.address, client.namespace)
        await eventually(lambda: stack.source_value(source["id"], "first_synced_at"), what="the sync")
        assert await waits_for_its_turn(client, FETCH_QUEUE, settings("1")) is None
    async with build("2") as stack:
        assert "--build-id 2" in str(await waits_for_its_turn(client, MAIN_QUEUE, settings("2")))
        await make_current(client, settings("2"))
        await stack.poll(source)
        described = (await stack.workflow(source).describe()).raw_description
        assert described.workflow_execution_info.versioning_info.deployment_version.build_id == "2"
    unversioned = settings_for(database_url, simulator)
    async with open_harness(unversioned, client, simulator) as stack, stack.workers():
        for _ in range(2):  # repeatable
            await make_unversioned_current(client, MAIN_QUEUE)
        await stack.poll(source)


async def _is_known(stack: Harness) -> bool:
    states = [await queue_state(stack.client, queue) for queue in TASK_QUEUES]
    return all(ONE in state.workers for state in states)


def _do_as_told(said: str, address: str, namespace: str) -> None:
    program, *arguments = said[said.index("temporal worker") :].split()
    place = ("--address", address, "--namespace", namespace, "--yes")
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments, *place], capture_output=True, text=True
    )
    assert done.returncode == 0, done
