"""What a source does when its site fails: waits, retries, opens its circuit, buries (C9, C10, C11, X2)."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import TimeSkipper, TimeSkippingConfig

from simulator.faults import Fault
from tests.harness import Harness, eventually

FEED = "/mangadex/manga/*/feed"


async def test_c9_429_with_retry_after_on_the_third_page_is_obeyed_then_completed(stack: Harness) -> None:
    stack.simulator.faults.add(Fault(path=FEED, status=429, retry_after=2, skip=2, count=1))
    source = await stack.add_and_sync(stack.series(chapters=2000))
    assert await stack.chapter_count() == 2000
    feed = stack.simulator.requests.matching(FEED)
    refused = next(i for i, request in enumerate(feed) if request.status == 429)
    assert refused == 2
    assert feed[refused + 1].monotonic - feed[refused].monotonic >= 2
    assert feed[refused + 1].query == feed[refused].query, "it went on where it was, not from the start"
    assert len(feed) == 5
    assert await stack.source_value(source["id"], "failure_count") == 0
    history = await stack.workflow(source).fetch_history()
    waits = [e for e in history.events if e.HasField("timer_started_event_attributes")]
    assert any("429" in e.user_metadata.summary.data.decode() for e in waits), "the timer says why"


async def test_c9_what_passes_is_retried_and_does_not_count_as_a_failed_poll(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    stack.release(series)
    stack.simulator.faults.add(Fault(path=FEED, status=500, count=2))
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4
    assert await stack.source_value(source["id"], "failure_count") == 0


@pytest.mark.parametrize("kind", ["reset", "truncated", "html"])
async def test_c9_broken_answers_lose_nothing(stack: Harness, kind: str) -> None:
    stack.simulator.faults.add(Fault.model_validate({"path": FEED, "kind": kind, "count": 2}))
    await stack.add_and_sync(stack.series(chapters=3))
    assert await stack.chapter_count() == 3


async def test_c9_c11_a_series_that_is_gone_is_buried_at_once(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    stack.simulator.world.remove_series(series.id)
    stack.simulator.requests.clear()
    await stack.poll(source)
    [letter] = await stack.rows("select * from dead_letter")
    assert (letter["kind"], letter["job_key"], letter["error_code"]) == ("poll", source["id"], "not_found")
    assert letter["error"]["http_status"] == 404
    assert letter["workflow_id"] == f"source-{source['id']}"
    assert len(stack.simulator.requests.matching(FEED)) == 1, "a permanent error is not retried"
    await stack.poll(source)
    [letter] = await stack.rows("select * from dead_letter")
    assert letter["occurrences"] == 2, "failing again adds to the letter"
    assert await stack.source_value(source["id"], "circuit") == "closed"


async def circuit_in_visibility(stack: Harness, source: dict[str, Any]) -> str:
    query = f"SourceId = '{source['id']}' AND ExecutionStatus = 'Running'"
    [execution] = [w async for w in stack.client.list_workflows(query)]
    return str(execution.typed_search_attributes.search_attributes[0].value) and next(
        str(pair.value)
        for pair in execution.typed_search_attributes.search_attributes
        if pair.key.name == "Circuit"
    )


async def test_c10_five_failed_polls_open_the_circuit_and_a_good_probe_closes_it(harness: Harness) -> None:
    skipper = TimeSkipper(harness.client, config=TimeSkippingConfig(enabled=False))
    harness.client = skipper.client
    async with harness.workers():
        source = await harness.add_and_sync(harness.series(chapters=3))
        handle: WorkflowHandle[Any, Any] = harness.workflow(source)
        fault = harness.simulator.faults.add(Fault(path=FEED, status=500))
        for failures in range(1, 6):
            await harness.poll(source)
            assert await harness.source_value(source["id"], "failure_count") == failures
        assert fault.hits == 15, "three attempts a poll; polls are counted, not attempts"
        assert await harness.source_value(source["id"], "circuit") == "open"
        await eventually(lambda: _circuit_is(harness, source, "open"))
        [letter] = await harness.rows("select * from dead_letter")
        assert (letter["error_code"], letter["retryable"]) == ("server_error", True)

        await skipper.fast_forward(handle, timedelta(hours=23))
        assert fault.hits == 15, "nothing is asked while the circuit is open"
        await skipper.fast_forward(handle, timedelta(hours=1, minutes=1))
        await eventually(lambda: _failures_are(harness, source, 6))
        assert fault.hits == 16, "the probe is one request"

        harness.simulator.faults.clear()
        await skipper.fast_forward(handle, timedelta(hours=24, minutes=1))
        await eventually(lambda: _circuit_is(harness, source, "closed"))
        assert await harness.source_value(source["id"], "failure_count") == 0
        assert await harness.value("select state from dead_letter") == "resolved"


async def _circuit_is(harness: Harness, source: dict[str, Any], wanted: str) -> bool:
    stored = await harness.source_value(source["id"], "circuit")
    return bool(stored == wanted and await circuit_in_visibility(harness, source) == wanted)


async def _failures_are(harness: Harness, source: dict[str, Any], wanted: int) -> bool:
    return bool(await harness.source_value(source["id"], "failure_count") == wanted)


async def test_c11_a_dead_letter_does_not_block_its_source(stack: Harness) -> None:
    """One chapter that the database refuses; the others go on."""
    series = stack.series(chapters=1)
    source = await stack.add_and_sync(series)
    await stack.execute("alter table logical_chapter add constraint no_13 check (chapter_key <> '13')")
    stack.release(series, chapter="13")
    stack.release(series, chapter="14")
    await stack.poll(source)
    await eventually(lambda: stack.value("select count(*) from dead_letter"))
    [letter] = await stack.rows("select * from dead_letter")
    assert (letter["kind"], letter["job_key"]) == ("ingest", f"{source['id']}:13")
    assert (letter["error_code"], letter["attempts"]) == ("invalid_data", 1)
    assert letter["input"]["chapter"]["key"] == "13"
    await stack.poll(source)
    stack.release(series, chapter="15")
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.value("select array_agg(chapter_key order by number) from logical_chapter") == [
        "1", "14", "15",
    ]  # fmt: skip
    assert await stack.value("select occurrences from dead_letter") == 1, "nobody tries again by themselves"


async def test_c9_a_database_that_is_away_is_waited_for_and_no_fault_of_the_source(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    stack.release(series)
    await stack.execute("alter table chapter_upload rename to away")
    await stack.execute(
        """create function chapter_upload_is_away() returns setof away language plpgsql as
           $$ begin raise exception 'down' using errcode = '57P01'; end $$"""
    )
    await stack.execute("create view chapter_upload as select * from chapter_upload_is_away()")
    await stack.workflow(source).signal("poll_now")
    await eventually(lambda: stack.source_value(source["id"], "last_error_code"))
    assert await stack.source_value(source["id"], "last_error_code") == "database_down"
    assert await stack.source_value(source["id"], "failure_count") == 0
    await stack.execute("drop view chapter_upload")
    await stack.execute("alter table away rename to chapter_upload")
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4


async def test_x2_a_pause_ends_a_poll_that_is_under_way(stack: Harness) -> None:
    """One that ends the worker again and again, say: its attempts go on for minutes."""
    source = await stack.add_and_sync(stack.series(chapters=3))
    stack.simulator.faults.add(Fault(kind="hold", path=FEED, hold="before", hold_seconds=600, count=1))
    before = (await stack.status(source))["polls"]
    await stack.workflow(source).signal("poll_now")

    async def is_asking() -> bool:
        return bool((await stack.status(source))["polls"] > before)

    async def is_paused() -> bool:
        return bool((await stack.status(source))["paused"])

    await eventually(is_asking, what="the poll")
    await stack.workflow(source).signal("pause", "enough")
    await eventually(is_paused, within=10, what="the pause")
    assert await stack.source_value(source["id"], "failure_count") == 0
    await stack.workflow(source).signal("resume")
    await stack.poll(source)
    assert (await stack.status(source))["last_outcome"] == "nothing new"
