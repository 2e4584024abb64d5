"""Enrichment over the real stack (I5): pages, services, refusals, what fails for good, what nobody is at."""

from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.names import MAIN_QUEUE, enrich_workflow_id, new_id, source_workflow_id
from fascicle.jobs.operations import ReplayLettersInput
from fascicle.services.feeds import enrichment
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.feeds import feed, poll, publish, read
from tests.harness import Harness, eventually
from tests.items import ARTICLE, due_item, enrich, item_row, serve
from workflows.operations.reconcile import ReconcileWorkflow


@pytest.fixture
def overrides(simulator: RunningSimulator) -> dict[str, Any]:
    return {"enrich": True, "youtube_url": f"{simulator.url}/youtube"}


def errors_of(row: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["step"], error["code"]) for error in row["metadata"]["errors"]]


async def test_i5_a_page_fills_in_what_the_feed_left_out(stack: Harness) -> None:
    url = f"{stack.simulator.url}/pages/1"
    serve(stack, "/pages/1", ARTICLE)
    row = await enrich(stack, await due_item(stack, url, title=url, summary="Comments", author="Feed's own"))
    assert row["enrich"] == "done"
    assert (row["title"], row["author"], row["site_name"]) == ("Lanterns", "Feed's own", "The Blog")
    assert row["image_url"] == f"{stack.simulator.url}/lantern.jpg"
    assert (row["language"], row["words"], row["reading_minutes"]) == ("en", 603, 3)
    assert (row["lead_kind"], row["lead"][:24]) == ("extractive", "The lighthouse keeper cl")
    assert errors_of(row) == []


async def test_i5_a_video_is_asked_of_its_service_and_its_page_is_left_alone(stack: Harness) -> None:
    answer = """{"type": "video", "title": "Waves", "author_name": "Sea TV", "provider_name": "YouTube",
      "thumbnail_url": "https://i.ytimg.test/1.jpg", "html": "<iframe></iframe>"}"""
    asked = serve(stack, "/youtube/oembed", answer, headers={"content-type": "application/json"})
    watched = serve(stack, "/youtube/watch", ARTICLE)
    video = await due_item(stack, "https://www.youtube.com/watch?v=abc", image_url="https://feed.test/1.jpg")
    row = await enrich(stack, video)
    assert (row["author"], row["site_name"], row["image_url"]) == (
        "Sea TV",
        "YouTube",
        "https://feed.test/1.jpg",
    )
    assert (row["title"], row["metadata"]["oembed"]["title"]) == ("An item", "Waves")
    assert (asked.report().hits, watched.report().seen) == (1, 0)


async def test_i5_refusals_are_waited_out_and_failures_tried_again(stack: Harness) -> None:
    faults = stack.simulator.faults
    faults.add(Fault(path="/pages/2", status=429, retry_after=1, count=1))
    faults.add(Fault(path="/pages/2", status=500, count=2))
    serve(stack, "/pages/2", ARTICLE)
    row = await enrich(stack, await due_item(stack, f"{stack.simulator.url}/pages/2"))
    assert (row["enrich"], row["site_name"], errors_of(row)) == ("done", "The Blog", [])


@pytest.mark.parametrize(("status", "code"), [(500, "server_error"), (403, "blocked")])
async def test_i5_a_page_that_cannot_be_had_keeps_back_nothing_else(
    stack: Harness, status: int, code: str
) -> None:
    stack.simulator.faults.add(Fault(path="/pages/3", status=status))
    content = "<p>All the words of it are in the feed itself.</p>" + "<p>More of them.</p>" * 10
    item = await due_item(stack, f"{stack.simulator.url}/pages/3", content=content, language="en")
    row = await enrich(stack, item)
    assert (row["enrich"], errors_of(row)) == ("done", [("page", code)])
    assert (row["words"], row["reading_minutes"], row["lead_kind"]) == (40, 1, "feed")
    assert row["lead"].startswith("All the words of it are in the feed itself. More")


async def test_i5_c11_what_fails_for_good_is_a_letter_that_can_be_replayed(stack: Harness) -> None:
    serve(stack, "/pages/4", ARTICLE)
    await stack.execute("alter table item add constraint no_english check (language <> 'en')")
    item = await due_item(stack, f"{stack.simulator.url}/pages/4")
    with pytest.raises(WorkflowFailureError):
        await enrich(stack, item)
    assert (await item_row(stack, item))["enrich"] == "failed"
    (letter,) = await stack.rows("select * from dead_letter")
    assert (letter["kind"], letter["job_key"], letter["state"]) == ("enrich", str(item), "open")
    await stack.execute("alter table item drop constraint no_english")
    await stack.client.execute_workflow(
        "ReplayLettersWorkflow",
        ReplayLettersInput(letters=[letter["id"]]),
        id=f"replay-{new_id()}",
        task_queue=MAIN_QUEUE,
    )

    async def is_done() -> bool:
        return bool((await item_row(stack, item))["enrich"] == "done")

    await eventually(is_done)


async def test_i5_an_item_that_nobody_is_at_gets_its_workflow_once(stack: Harness) -> None:
    page = stack.simulator.faults.add(Fault(path="/pages/5", kind="hold", hold="before"))
    item = await due_item(stack, f"{stack.simulator.url}/pages/5")

    async def reconcile() -> int:
        await stack.execute("update item set enrich_due_at = now() - interval '6 minutes'")
        orphans = await stack.client.execute_workflow(
            ReconcileWorkflow.run, id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE
        )
        return orphans.items

    assert (await reconcile(), await reconcile()) == (1, 0)
    assert await stack.value("select enrich_due_at > now() - interval '1 minute' from item")
    stack.simulator.faults.release(page.id)
    await stack.client.get_workflow_handle(enrich_workflow_id(item)).result()
    assert (await item_row(stack, item))["enrich"] == "done"


@pytest.mark.parametrize("overrides", [{"enrich": True, "enrich_summarize": True}])
async def test_i5_every_item_is_summarised_where_that_is_wanted(stack: Harness) -> None:
    serve(stack, "/pages/9", ARTICLE)
    item = await due_item(stack, f"{stack.simulator.url}/pages/9", summary="<p>Words of its feed, a few.</p>")
    await enrich(stack, item)
    await eventually(lambda: stack.value("select document from summary"), what="the summary")
    kept = await stack.value("select document->>'summary_250' from summary")
    assert await stack.value("select lead from item where id = :id", id=item) == kept


async def test_i5_new_items_are_enriched_beside_their_feeds_workflow_not_under_it(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "News")
    await poll(stack, subscribed)

    async def enriched() -> list[dict[str, Any]]:
        return await stack.rows("select id from item where title = 'News' and enrich = 'done'")

    item = (await eventually(enriched))[0]
    child = await stack.client.get_workflow_handle(enrich_workflow_id(item["id"])).describe()
    assert child.parent_id is None
    events = await _event_types(stack, source_workflow_id(subscribed.source_id))
    assert EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED not in events


async def test_i5_what_the_poll_could_not_start_its_workflow_starts(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_arguments: Any, **_options: Any) -> bool:
        raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")

    subscribed = await read(stack, "ann", feed(stack))
    publish(stack, "blog", "News")
    monkeypatch.setattr(enrichment, "start_if_absent", refuses)
    await poll(stack, subscribed)

    async def enriched() -> list[dict[str, Any]]:
        return await stack.rows("select id from item where title = 'News' and enrich = 'done'")

    await eventually(enriched)


async def test_i7_a_source_is_not_given_its_search_attributes_twice(stack: Harness) -> None:
    subscribed = await read(stack, "ann", feed(stack))
    workflow_id = source_workflow_id(subscribed.source_id)
    await stack.status({"id": subscribed.source_id})
    assert EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES not in await _event_types(
        stack, workflow_id
    )
    found = (await stack.client.get_workflow_handle(workflow_id).describe()).typed_search_attributes
    assert found.get(SearchAttributeKey.for_keyword("Circuit")) == "closed"


async def _event_types(stack: Harness, workflow_id: str) -> list[int]:
    history = await stack.client.get_workflow_handle(workflow_id).fetch_history()
    return [event.event_type for event in history.events]
