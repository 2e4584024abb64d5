"""`python worker.py` as a process of its own: drain (O2), ops pages (O1), a choice of queues."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest

from fascicle.embedded import EmbeddedTemporal
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.deploy.promql import alerts, asked
from tests.harness import eventually
from tests.starter.commandline import Process
from tests.starter.operations.test_prometheus import exposed_at
from tests.starter.services import Site, open_site


@pytest.fixture
async def site(
    temporal: EmbeddedTemporal, database_url: str, simulator: RunningSimulator, tmp_path: Path
) -> AsyncIterator[Site]:
    async with open_site(temporal.address, database_url, simulator, tmp_path) as opened:
        yield opened


async def in_the_middle_of_a_first_sync(site: Site, worker: Process, delay: float) -> dict[str, Any]:
    """The worker waits for an answer of the upstream, which takes `delay` seconds."""
    await site.until_ready()
    source = await site.harness.add(site.harness.series(chapters=5))
    site.harness.simulator.faults.add(Fault(kind="delay", delay=delay, path="/mangadex/manga/*"))

    async def asked() -> bool:
        return site.harness.simulator.faults.reports()[0].hits > 0

    await eventually(asked, what="the slow request")
    assert not worker.has_ended()
    return source


async def exit_code(worker: Process, *, within: float) -> int:
    return await asyncio.to_thread(worker.exit_code, within=within)


async def test_o2_a_signal_lets_the_job_under_way_finish(site: Site) -> None:
    with site.start_worker() as worker:
        source = await in_the_middle_of_a_first_sync(site, worker, delay=2)
        worker.signal(signal.SIGTERM)
        await eventually(lambda: _is_draining(site), what="the drain")
        assert (await site.readiness())["active_jobs"] == 1
        assert await exit_code(worker, within=10) == 0
    assert await site.harness.chapter_count() == 5
    assert await site.harness.source_value(source["id"], "first_synced_at")


async def test_o2_a_second_signal_leaves_at_once_and_loses_nothing(site: Site) -> None:
    with site.start_worker() as worker:
        source = await in_the_middle_of_a_first_sync(site, worker, delay=20)
        worker.signal(signal.SIGINT)
        await eventually(lambda: _is_draining(site), what="the drain")
        worker.signal(signal.SIGTERM)
        assert await exit_code(worker, within=3) == 128 + signal.SIGTERM
    assert not await site.harness.source_value(source["id"], "first_synced_at")
    description = await site.harness.workflow(source).describe()
    assert description.status is not None
    assert description.status.name == "RUNNING", "Temporal still has the work"


async def test_o7_a_queue_is_seen_to_be_served_however_its_slots_are_given(site: Site) -> None:
    site.env["FASCICLE_WORKER_SLOTS"] = "resources"
    (rule,) = [rule for rule in alerts() if rule["alert"] == "FascicleQueueUnserved"]
    queues = set(asked(promql.parse(rule["expr"]), frozenset()))
    assert len(queues) == 4
    with site.start_worker():
        await site.until_ready()

        async def all_are_seen() -> bool:
            exposed = await asyncio.to_thread(exposed_at, site.ops_port)
            return all(exposed.has(queue) for queue in queues)

        await eventually(all_are_seen, what="its queues in /metrics")


async def test_o1_a_worker_of_one_queue_is_ready_and_leaves_the_rest(site: Site) -> None:
    with site.start_worker("--queues", "fetch") as worker:
        await site.until_ready()
        assert (await site.readiness())["queues"] == ["fetch"]
        await site.harness.add(site.harness.series())
        await asyncio.sleep(0.5)
        assert not site.harness.simulator.requests.matching("/mangadex/manga/*/feed")
        worker.signal(signal.SIGTERM)
        assert await exit_code(worker, within=10) == 0


async def _is_draining(site: Site) -> bool:
    shown = await site.readiness()
    return shown["worker"] == "draining" and await site.status() == 503
