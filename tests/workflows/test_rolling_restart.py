"""Workers that are stopped and started under load lose no activity (O2)."""

import asyncio
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType, PendingActivityState

from fascicle.domain.cadence import Cadence
from tests.harness import Harness, eventually

_RESTARTS = 10
_SOURCES = 12


@pytest.fixture
def overrides() -> dict[str, Any]:
    # Some slots are free, so polls are under way whenever a worker stops, and activities come all the time.
    return {"cadence_hot_seconds": 0.2}


async def test_o2_ten_restarts_under_load_lose_nothing(harness: Harness) -> None:
    async with harness.workers():
        upstream = [harness.series(f"Series {number}") for number in range(_SOURCES)]
        sources = [await harness.add_and_sync(one, cadence=Cadence.HOT) for one in upstream]
    polls = len(harness.simulator.requests.matching("/mangadex/manga/*/feed"))
    for number in range(_RESTARTS):
        async with harness.workers():
            harness.release(upstream[number])
            await asyncio.sleep(0.5)
        assert await _in_nobodys_hands(harness, sources) == 0, f"after the stop number {number + 1}"
    async with harness.workers():
        await eventually(lambda: _all_came(harness), what="the chapters of all releases")
    assert await _in_nobodys_hands(harness, sources) == 0
    assert len(harness.simulator.requests.matching("/mangadex/manga/*/feed")) > polls + _SOURCES
    assert await _timed_out(harness) == 0


async def _all_came(harness: Harness) -> bool:
    return await harness.chapter_count() == 3 * _SOURCES + _RESTARTS


async def _in_nobodys_hands(harness: Harness, sources: list[dict[str, Any]]) -> int:
    """Activities that a worker took and did not finish: they come back when their heartbeat is missed."""
    described = await asyncio.gather(*(harness.workflow(source).describe() for source in sources))
    pending = [one for workflow in described for one in workflow.raw_description.pending_activities]
    return sum(one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED for one in pending)


async def _timed_out(harness: Harness) -> int:
    """Activities that had to wait until their heartbeat, or their time, was over."""
    lost = 0
    async for execution in harness.client.list_workflows():
        handle = harness.client.get_workflow_handle(execution.id, run_id=execution.run_id)
        events = (await handle.fetch_history()).events
        lost += sum(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT for event in events)
    return lost
