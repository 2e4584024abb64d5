"""A source's life: signals, queries, continue-as-new, cost, restarts (C1, C2, C15, O4)."""

import asyncio
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowExecutionStatus

from fascicle.domain.errors import UsageError
from fascicle.domain.series.cadence import Cadence
from fascicle.services.operations.missing_workflows import rebuild
from simulator.faults import Fault
from tests.harness import Harness, eventually
from workflows.series.source import LONGEST_HISTORY


async def test_c15_pause_resume_poll_now_and_status(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    handle = stack.workflow(source)
    await handle.signal("pause", "holidays")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"))
    assert (await stack.status(source))["pause_reason"] == "holidays"
    assert (await stack.status(source))["next_poll_at"] is None
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4, "a person may look while it is paused"
    assert (await stack.status(source))["paused"]
    await handle.signal("resume")
    await eventually(lambda: _is_running(stack, source))


async def _is_running(stack: Harness, source: dict[str, Any]) -> bool:
    stored = await stack.source_value(source["id"], "paused_at")
    return stored is None and not (await stack.status(source))["paused"]


async def test_c2_c15_a_pinned_cadence_shows_everywhere(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=3, release_interval_hours=1))
    await stack.workflow(source).signal("set_priority", "cold")

    async def pinned() -> bool:
        query = f"SourceId = '{source['id']}' AND Cadence = 'COLD'"
        return bool([w async for w in stack.client.list_workflows(query)])

    await eventually(pinned)
    assert await stack.source_value(source["id"], "pinned_cadence") == "COLD"
    await stack.workflow(source).signal("set_priority", "auto")
    await eventually(lambda: _cadence_is(stack, source, "HOT"))


async def _cadence_is(stack: Harness, source: dict[str, Any], cadence: str) -> bool:
    return bool((await stack.status(source))["cadence"] == cadence)


async def test_c10_a_pin_does_not_delay_the_next_look_but_may_bring_it_forward(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=3))
    before = await stack.source_value(source["id"], "next_check_at")
    await stack.workflow(source).signal("set_priority", "COLD")
    await eventually(lambda: _cadence_is(stack, source, "COLD"))
    assert await stack.source_value(source["id"], "next_check_at") == before
    await stack.workflow(source).signal("set_priority", "HOT")
    await eventually(lambda: _cadence_is(stack, source, "HOT"))
    assert await stack.source_value(source["id"], "next_check_at") < before


async def test_a_removed_source_ends_its_workflow_and_comes_back_whole(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.execute("update source set removed_at = now()")
    await stack.workflow(source).signal("poll_now")
    await stack.workflow(source).result()
    again = await stack.add(series)
    assert again["id"] == source["id"]
    assert (await stack.workflow(source).describe()).status is WorkflowExecutionStatus.RUNNING
    assert await stack.chapter_count() == 3


async def test_stop_ends_a_source_that_waits_for_its_site(stack: Harness) -> None:
    stack.simulator.faults.add(Fault(path="/mangadex/manga/*/feed", status=429, retry_after=3600))
    source = await stack.add(stack.series(chapters=3))
    await eventually(lambda: _waits(stack, source))
    assert "429" in (await stack.status(source))["waiting_for"]
    await stack.workflow(source).signal("stop")
    await asyncio.wait_for(stack.workflow(source).result(), 5)


async def _waits(stack: Harness, source: dict[str, Any]) -> bool:
    return bool((await stack.status(source))["waiting_for"])


async def test_c14_adding_a_source_again_returns_it(stack: Harness) -> None:
    series = stack.series(chapters=3)
    first, second = await stack.add(series), await stack.add(series)
    assert first["id"] == second["id"]


async def test_c14_two_people_adding_one_series_at_once_share_it(stack: Harness) -> None:
    series = stack.series(chapters=3)
    added = await asyncio.gather(*(stack.add(series) for _ in range(5)))
    assert len({source["id"] for source in added}) == 1
    assert await stack.value("select count(*) from series") == 1


async def test_x7_a_series_named_ambiguously_is_asked_about(stack: Harness) -> None:
    await stack.add(stack.series("Lantern Street", chapters=1))
    await stack.add(stack.series("Lantern Lane", chapters=1))
    with pytest.raises(UsageError, match="several series"):
        await stack.add(stack.series("Third", chapters=1), series="lantern")


async def test_c1_the_loop_continues_as_new_and_forgets_nothing(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series, cadence=Cadence.HOT)
    handle = stack.workflow(source)
    first_run = (await handle.describe()).run_id
    asked = 0
    while (await handle.describe()).run_id == first_run:
        asked += 1
        assert asked < LONGEST_HISTORY, "each poll adds events"
        await stack.poll(source)
    assert (await stack.status(source))["polls"] > asked, "counted across runs"
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4


def scheduled(events: list[HistoryEvent]) -> list[Any]:
    return [
        e.activity_task_scheduled_event_attributes
        for e in events
        if e.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]


async def test_c15_c16_who_is_asked_for_does_not_wait_for_all_that_is_hot(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(), cadence=Cadence.COLD)

    async def steps() -> list[tuple[str, int]]:
        events = list((await stack.workflow(source).fetch_history()).events)
        return [(one.activity_type.name, one.priority.priority_key) for one in scheduled(events)]

    async def ask(wish: str, *arguments: str) -> None:
        before = len(await steps())

        async def is_asked() -> bool:
            return len(await steps()) > before

        await stack.workflow(source).signal(wish, args=arguments)
        await eventually(is_asked, what=wish)

    await stack.poll(source)
    await ask("wake")
    await ask("replay", "1")
    first, usual = Cadence.HOT.priority_key, Cadence.COLD.priority_key
    looks = (("poll_source", first), ("poll_source", first), ("find_chapters", first))
    assert await steps() == [("backfill_source", usual), *looks]
    await ask("pause", "a rest")
    await ask("resume")  # and so it looks of its own accord

    async def looked_as_usual() -> bool:
        return (await steps())[-1] == ("poll_source", usual)

    await eventually(looked_as_usual, what="a look that nobody asked for")


async def test_c2_o4_priority_fairness_and_summaries_are_set(stack: Harness) -> None:
    series = stack.series("Lanterns", chapters=3)
    source = await stack.add_and_sync(series, cadence=Cadence.HOT)
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    history = await stack.workflow(source).fetch_history()
    poll = scheduled(list(history.events))[-1]
    assert (poll.priority.priority_key, poll.priority.fairness_key) == (1, "mangadex")
    assert poll.task_queue.name == "fetch"
    description = await stack.workflow(source).describe()
    assert await description.static_summary() == "Lanterns on mangadex"
    child = await stack.client.get_workflow_handle(f"ingest-{source['id']}-4").describe()
    assert await child.static_summary() == "Lanterns 4"
    timers = [e for e in history.events if e.event_type == EventType.EVENT_TYPE_TIMER_STARTED]
    assert b"next look at Lanterns" in timers[-1].user_metadata.summary.data


async def test_x1_workflows_that_temporal_forgot_are_started_from_the_database(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=3))
    await stack.workflow(source).signal("pause", "kept")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"))
    await stack.workflow(source).terminate("as if Temporal's database were lost")

    async def some_missing() -> bool:
        return sum((await rebuild(stack.dependencies, stack.client)).values()) >= 1

    await eventually(some_missing)
    assert (await stack.status(source))["paused"], "what the database knows is kept"


async def test_x1_what_was_owed_when_temporal_forgot_is_still_told(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.execute("update logical_chapter set announce = 'owed' where chapter_key = '3'")
    assert sum((await rebuild(stack.dependencies, stack.client)).values()) >= 1
    await stack.messages(1)
    await stack.all_quiet()
    await stack.follow("late", source["series_id"])
    await stack.execute("update delivery set state = 'pending'")
    await rebuild(stack.dependencies, stack.client)
    await stack.messages(2)
    assert {m.name for m in stack.simulator.sink.messages()} == {"ann"}, "who follows later is not told"


async def test_o2_a_worker_that_drains_hands_its_backfill_over(harness: Harness) -> None:
    harness.simulator.faults.add(Fault(path="/mangadex/manga/*/feed", kind="delay", delay=0.4))
    async with harness.workers():
        source = await harness.add(harness.series(chapters=3000))
        await eventually(harness.chapter_count)
    stored = await harness.chapter_count()
    assert 0 < stored < 3000
    requests = len(harness.simulator.requests.matching("/mangadex/manga/*/feed"))
    async with harness.workers():
        await eventually(lambda: harness.source_value(source["id"], "first_synced_at"))
    assert await harness.chapter_count() == 3000
    assert len(harness.simulator.requests.matching("/mangadex/manga/*/feed")) <= 7, f"{requests} before"
