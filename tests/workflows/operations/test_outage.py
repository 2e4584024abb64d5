"""After an outage every source is overdue, and no worker remembers any workflow (C1, X3)."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType, TimeoutType

from fascicle.domain.series.cadence import Cadence
from tests.harness import Harness, eventually

_SOURCES = 10


@pytest.mark.parametrize("overrides", [{"cadence_hot_seconds": 0.3, "max_cached_workflows": 3}])
async def test_c1_overdue_sources_are_polled_again_without_waking_their_workflows(harness: Harness) -> None:
    async with harness.workers():
        upstream = [harness.series(f"Series {number}") for number in range(_SOURCES)]
        sources = [await harness.add_and_sync(one, cadence=Cadence.HOT) for one in upstream]
        await eventually(lambda: _all_are_watched(harness, sources), what="watches")
    lengths = await _lengths(harness, sources)
    await asyncio.sleep(1)  # all are overdue now
    stopped = await harness.value("select now()")
    async with harness.workers():
        await eventually(lambda: _all_polled_since(harness, stopped), what="a poll of each")
        assert await _lengths(harness, sources) == lengths, "no workflow was woken, so none was replayed"
        harness.release(upstream[0])
        await eventually(lambda: _has_come(harness))
    assert await _timed_out(harness, sources) == 0


async def _all_are_watched(harness: Harness, sources: list[dict[str, Any]]) -> bool:
    described = await asyncio.gather(*(harness.workflow(source).describe() for source in sources))
    pending = [one.raw_description.pending_activities for one in described]
    return all(looks and looks[0].attempt > 1 for looks in pending)


async def _lengths(harness: Harness, sources: list[dict[str, Any]]) -> list[int]:
    described = await asyncio.gather(*(harness.workflow(source).describe() for source in sources))
    return [one.history_length for one in described]


async def _all_polled_since(harness: Harness, moment: datetime) -> bool:
    polled = "select count(*) from source where last_checked_at > :moment"
    return bool(await harness.value(polled, moment=moment) == _SOURCES)


async def _has_come(harness: Harness) -> bool:
    return await harness.chapter_count() == 3 * _SOURCES + 1


async def _timed_out(harness: Harness, sources: list[dict[str, Any]]) -> int:
    """Workflow tasks that were begun and not finished in time."""
    late = 0
    for source in sources:
        for event in (await harness.workflow(source).fetch_history()).events:
            task = event.workflow_task_timed_out_event_attributes
            late += (
                event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
                and task.timeout_type == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE
            )
    return late
