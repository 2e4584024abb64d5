"""Workers that are stopped and started under load lose no task (O2)."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType, PendingActivityState, TimeoutType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.runtime import Runtime, TelemetryConfig

from fascicle.domain.series.cadence import Cadence
from fascicle.embedded import EmbeddedTemporal
from fascicle.temporal.correlation import CorrelationInterceptor
from simulator.series import Series
from tests.harness import Harness, eventually

_RESTARTS = 10
_SOURCES = 8
_FEEDS = "/mangadex/manga/*/feed"


@pytest.fixture
def overrides() -> dict[str, Any]:
    # Some slots are free, so polls are under way whenever a worker stops, and tasks come all the time.
    return {"cadence_hot_seconds": 0.2}


@pytest.fixture
async def known(harness: Harness, temporal: EmbeddedTemporal) -> Harness:
    """With a client whose workers report to the server every second, as often as the SDK allows."""
    runtime = Runtime(telemetry=TelemetryConfig(), worker_heartbeat_interval=timedelta(seconds=1))
    client = await Client.connect(
        temporal.address,
        data_converter=pydantic_data_converter,
        interceptors=[CorrelationInterceptor()],
        runtime=runtime,
    )
    return replace(harness, client=client)


async def test_o2_ten_restarts_under_load_lose_nothing(known: Harness) -> None:
    async with known.workers():
        upstream = [known.series(f"Series {number}") for number in range(_SOURCES)]
        sources = [await known.add_and_sync(one, cadence=Cadence.HOT) for one in upstream]
    polls = len(known.simulator.requests.matching(_FEEDS))
    for number in range(_RESTARTS):
        async with known.workers():
            await asyncio.sleep(1.1)  # The server has heard of the workers by then.
            await _release_all(known, upstream)
        assert await _in_nobodys_hands(known, sources) == 0, f"after the stop number {number + 1}"
    async with known.workers():
        await eventually(lambda: _all_came(known), what="the chapters of all releases")
    assert await _in_nobodys_hands(known, sources) == 0
    assert len(known.simulator.requests.matching(_FEEDS)) > polls + _SOURCES
    assert await _timed_out(known) == {}


async def _release_all(harness: Harness, upstream: list[Series]) -> None:
    """A chapter each. Return in the middle of the work: when the first is in the books."""
    before = await harness.chapter_count()
    for one in upstream:
        harness.release(one)

    async def one_came() -> bool:
        return await harness.chapter_count() > before

    await eventually(one_came, what="the first of the chapters")


async def _all_came(harness: Harness) -> bool:
    return await harness.chapter_count() == (3 + _RESTARTS) * _SOURCES


async def _in_nobodys_hands(harness: Harness, sources: list[dict[str, Any]]) -> int:
    """Activities that a worker took and did not finish: they come back when their heartbeat is missed."""
    described = await asyncio.gather(*(harness.workflow(source).describe() for source in sources))
    pending = [one for workflow in described for one in workflow.raw_description.pending_activities]
    return sum(one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED for one in pending)


async def _timed_out(harness: Harness) -> Counter[str]:
    """Tasks that came back only after their timeout."""
    lost: Counter[str] = Counter()
    async for execution in harness.client.list_workflows():
        handle = harness.client.get_workflow_handle(execution.id, run_id=execution.run_id)
        lost.update(_what_timed_out(event) for event in (await handle.fetch_history()).events)
    del lost[""]
    return lost


def _what_timed_out(event: HistoryEvent) -> str:
    if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
        return "activity"
    if event.event_type != EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        return ""
    kind = event.workflow_task_timed_out_event_attributes.timeout_type
    return f"workflow task, {TimeoutType.Name(kind)}"
