"""A quiet source: Temporal repeats its look, and the workflow sleeps until there is something to do (C3)."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.testing import TimeSkipper, TimeSkippingConfig

from fascicle.domain.series.cadence import Cadence
from simulator.faults import Fault
from tests.harness import Harness, eventually

FEED = "/mangadex/manga/*/feed"
OFTEN = pytest.mark.parametrize("overrides", [{"cadence_hot_seconds": 0.2}])


async def watch_of(stack: Harness, source: dict[str, Any]) -> PendingActivityInfo | None:
    """The look that Temporal is going to repeat, once it was idle."""
    described = await stack.workflow(source).describe()
    pending = described.raw_description.pending_activities
    return pending[0] if pending and pending[0].attempt > 1 else None


async def watched(stack: Harness, **options: Any) -> tuple[Any, dict[str, Any]]:
    """A series and its source, whose look was idle and waits for its time."""
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series, cadence=Cadence.HOT, **options)
    await make_due(stack, source)
    await eventually(lambda: watch_of(stack, source), what="a watch")
    return series, source


async def make_due(stack: Harness, source: dict[str, Any]) -> None:
    """A source that is resumed looks at once."""
    await stack.workflow(source).signal("pause")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"))
    await stack.workflow(source).signal("resume")


@OFTEN
async def test_c3_idle_polls_are_attempts_of_one_activity_and_leave_no_event(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=3), cadence=Cadence.HOT)
    await eventually(lambda: watch_of(stack, source))
    events = len((await stack.workflow(source).fetch_history()).events)

    async def five_more() -> bool:
        pending = await watch_of(stack, source)
        return pending is not None and pending.attempt > 6

    await eventually(five_more, what="five more idle looks")
    assert len((await stack.workflow(source).fetch_history()).events) == events
    pending = await watch_of(stack, source)
    assert pending is not None
    assert pending.last_failure.message.startswith("nothing new; next look ")


@OFTEN
async def test_c3_what_a_watched_source_releases_comes_in(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series, cadence=Cadence.HOT)
    await eventually(lambda: watch_of(stack, source))
    stack.release(series)
    await eventually(lambda: stack.value("select 1 from chapter_source having count(*) = 4"))
    await eventually(lambda: watch_of(stack, source), what="the watch goes on")
    assert (await stack.status(source))["polls"] >= 2


@pytest.mark.parametrize("overrides", [{"cadence_hot_seconds": 6 * 3600}])
async def test_c2_idle_looks_keep_the_cadence_and_a_change_of_it_reaches_the_workflow(
    harness: Harness,
) -> None:
    skipper = TimeSkipper(harness.client, config=TimeSkippingConfig(enabled=False))
    harness.client = skipper.client
    async with harness.workers():
        source = await harness.add_and_sync(harness.series(chapters=3, release_interval_hours=1))
        began = datetime.now(UTC)
        await skipper.fast_forward(harness.workflow(source), timedelta(days=8))

        async def is_warm() -> bool:
            return bool((await harness.status(source))["cadence"] == "WARM")

        await eventually(is_warm)
        looked: datetime = await harness.source_value(source["id"], "last_checked_at")
        assert looked > began + timedelta(days=7), "each look has the time of its attempt"
        assert (await harness.status(source))["polls"] > 20


@pytest.mark.parametrize(
    ("signal", "arguments"),
    [("poll_now", ()), ("wake", (0.0,)), ("set_priority", ("COLD",)), ("replay", ("1",))],
)
async def test_c15_a_wish_interrupts_the_watch(stack: Harness, signal: str, arguments: Any) -> None:
    _, source = await watched(stack)
    before = len(stack.simulator.requests.matching(FEED))
    due = await stack.source_value(source["id"], "next_check_at")
    await stack.workflow(source).signal(signal, args=arguments)
    if signal == "set_priority":
        await eventually(lambda: stack.value("select 1 from source where pinned_cadence = 'COLD'"))
    else:
        await eventually(lambda: _requests(stack, before + 1), what="a look")
    if signal == "replay":
        pending = await eventually(lambda: watch_of(stack, source), what="the watch goes on")
        assert pending is not None
        assert "not due yet" in pending.last_failure.message
        assert len(stack.simulator.requests.matching(FEED)) == before + 1, "the replay's own"
    if signal in ("set_priority", "replay"):
        assert await stack.source_value(source["id"], "next_check_at") == due, "nothing was put off"


async def _requests(stack: Harness, wanted: int) -> bool:
    return len(stack.simulator.requests.matching(FEED)) >= wanted


async def test_c15_pause_and_stop_end_the_watch(stack: Harness) -> None:
    _, source = await watched(stack)
    await stack.workflow(source).signal("pause", "holidays")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"))
    assert await watch_of(stack, source) is None
    await stack.workflow(source).signal("stop")
    await asyncio.wait_for(stack.workflow(source).result(), 5)


@OFTEN
async def test_c9_one_request_for_each_look_where_the_next_is_near(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=3), cadence=Cadence.HOT)
    await eventually(lambda: watch_of(stack, source))
    fault = stack.simulator.faults.add(Fault(path=FEED, status=500, count=2))
    await eventually(lambda: stack.source_value(source["id"], "last_error_code"))
    await eventually(
        lambda: stack.value("select 1 from source where failure_count = 0 and last_error is null")
    )
    assert fault.hits == 2, "two failed looks of one request each, or fewer if one was tried again"
    assert await stack.source_value(source["id"], "circuit") == "closed"
    await eventually(lambda: watch_of(stack, source), what="the watch goes on")


async def test_c9_a_failed_watch_has_the_attempts_of_a_poll(stack: Harness) -> None:
    _, source = await watched(stack)
    fault = stack.simulator.faults.add(Fault(path=FEED, status=500))
    await make_due(stack, source)
    await eventually(lambda: stack.source_value(source["id"], "last_error_code"))
    assert fault.hits == 3
    assert await stack.source_value(source["id"], "failure_count") == 1


@pytest.mark.parametrize("overrides", [{"drain_seconds": 0}])
async def test_o2_a_look_that_a_stopping_worker_breaks_off_is_repeated(harness: Harness) -> None:
    async with harness.workers():
        series, source = await watched(harness)
        harness.simulator.faults.add(Fault(path=FEED, kind="delay", delay=5, count=1))
        await make_due(harness, source)
        requests = len(harness.simulator.requests.matching(FEED))
        await eventually(lambda: _requests(harness, requests + 1))
        await asyncio.sleep(0.2)
    harness.release(series)
    async with harness.workers():
        await eventually(lambda: harness.value("select 1 from chapter_source having count(*) = 4"))
    assert await harness.source_value(source["id"], "failure_count") == 0
