"""SummarizeWorkflow: a URL becomes a checked summary, stage by stage (R1–R5)."""

import asyncio
from typing import Any

import pytest
from temporalio.exceptions import CancelledError

from fascicle.domain.errors import UsageError
from fascicle.domain.summaries.request import Reception, RequestStatus, Stage
from fascicle.domain.summaries.summary import Method
from fascicle.imports.feeds_opml import WantedFeed
from simulator.llm import LlmScript
from simulator.server import RunningSimulator
from starter.context import Reach
from starter.feeds.feed_import import import_feeds
from tests.feeds import feed
from tests.harness import Harness, eventually
from tests.items import due_item
from tests.requests import article, ask, desk, model_settings, summarized, until_closed, until_over


@pytest.fixture
def overrides(simulator: RunningSimulator) -> dict[str, Any]:
    return model_settings(simulator)


extractive = pytest.mark.parametrize("overrides", [{}])


async def test_r2_a_page_becomes_a_summary_of_the_contract(stack: Harness) -> None:
    view = await summarized(stack, article(stack, title="On Lamps", words=300, language="en"))
    assert (view.status, view.progress, view.stage, view.error) == ("succeeded", 100, None, None)
    assert view.summary is not None
    assert view.summary.method is Method.MODEL
    assert view.summary.model == "sim/one"
    assert view.summary.label == "Written by sim/one."
    summary = view.summary.summary
    assert 0 < len(summary.summary_250) <= 250
    assert 0 < len(summary.summary_1000) <= 1000
    assert summary.key_ideas
    assert summary.topic_tags
    assert summary.tldr
    assert (summary.language, summary.reading_time_minutes) == ("en", 1)
    call = stack.simulator.llm.calls()[0]
    assert view.calls == 1
    assert view.tokens == call.prompt_tokens + call.completion_tokens
    assert view.cost == pytest.approx(float(call.cost))


@extractive
async def test_r4_without_a_model_the_summary_is_extractive_and_says_so(stack: Harness) -> None:
    view = await summarized(stack, article(stack, title="On Lamps", words=300))
    assert view.summary is not None
    assert view.summary.method is Method.EXTRACTIVE
    assert "No model wrote this" in view.summary.label
    assert view.summary.model is None
    assert not stack.simulator.llm.calls()
    assert (view.calls, view.tokens) == (0, 0)
    text = await stack.value("select text from request_article")
    assert view.summary.summary.key_ideas[0] in text


async def test_r1_the_same_page_is_summarised_once_unless_somebody_wants_it_anew(stack: Harness) -> None:
    url = article(stack, title="On Lamps")
    first = await summarized(stack, url)
    again = await ask(stack, f"{url}?utm_source=newsletter#top")
    assert (again.reception, again.view.id) == (Reception.CACHED, first.id)
    assert again.view.summary == first.summary
    anew = await summarized(stack, url, refresh=True)
    assert anew.id != first.id
    assert anew.summary is not None
    assert len(stack.simulator.llm.calls()) == 2


async def test_r1_many_who_ask_at_once_are_one_workflow(stack: Harness) -> None:
    url = article(stack, title="On Lamps")
    received = await asyncio.gather(*(ask(stack, url, user=f"u{n}") for n in range(20)))
    assert len({one.view.id for one in received}) == 1
    await until_over(stack, received[0].view.id)
    assert len(stack.simulator.llm.calls()) == 1
    assert len(stack.simulator.requests.matching("/press/")) == 1
    assert await stack.value("select count(*) from request_subscriber") == 20


async def test_r1_the_same_id_is_a_lock_that_is_held(
    stack: Harness, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.simulator.llm.configure(latency=0.5)
    url = article(stack, title="On Lamps")
    first = await ask(stack, url, request_id="mine-1")
    second = await ask(stack, url, request_id="mine-1")
    assert (first.reception, second.reception) == (Reception.STARTED, Reception.LOCK_HELD)
    assert "lock_held" in capsys.readouterr().out
    view = await until_over(stack, "mine-1")
    assert view.workflow_id == "request-mine-1"
    assert (await ask(stack, url, request_id="mine-1")).reception is Reception.CACHED
    assert len(stack.simulator.llm.calls()) == 1


async def test_r1_ids_of_a_program_are_its_own(stack: Harness) -> None:
    url = article(stack, title="On Lamps")
    with pytest.raises(UsageError, match="letters, digits"):
        await ask(stack, url, request_id="../x")
    await summarized(stack, url, request_id="a")
    with pytest.raises(UsageError, match="belongs to a request for"):
        await ask(stack, article(stack, title="On Wicks"), request_id="a")
    with pytest.raises(UsageError, match="needs another id"):
        await ask(stack, url, request_id="a", refresh=True)
    # One that failed, asked for again while another reads the page: they wait together.
    await stack.execute("update request set status = 'failed'")
    stack.simulator.llm.configure(latency=0.5)
    other = await ask(stack, url, request_id="b", refresh=True)
    joined = await ask(stack, url, request_id="a")
    assert (other.reception, joined.reception, joined.view.id) == (Reception.STARTED, Reception.JOINED, "b")
    assert (await until_over(stack, "b")).status is RequestStatus.SUCCEEDED


async def test_r3_what_was_done_is_not_done_again_after_a_retry(stack: Harness) -> None:
    stack.simulator.llm.script(LlmScript(status=402))
    url = article(stack, title="On Lamps")
    failed = await summarized(stack, url)
    assert failed.status is RequestStatus.FAILED
    retried = await ask(stack, url)
    assert (retried.reception, retried.view.id) == (Reception.RETRIED, failed.id)
    assert (await until_over(stack, failed.id)).status is RequestStatus.SUCCEEDED
    assert len(stack.simulator.requests.matching("/press/")) == 1


async def test_r2_a_request_is_cancelled_while_it_is_worked_on(stack: Harness) -> None:
    stack.simulator.llm.configure(latency=20)
    view = (await ask(stack, article(stack, title="On Lamps"))).view

    async def is_asking() -> bool:
        return bool(stack.simulator.llm.tally().under_way)

    await eventually(is_asking, what="the question")
    running = await desk(stack).show(view.id)
    assert (running.status, running.stage) == (RequestStatus.RUNNING, Stage.SUMMARIZING)
    progress = await stack.client.get_workflow_handle(view.workflow_id).query("progress")
    assert (progress["status"], progress["stage"]) == ("running", "summarizing")
    await desk(stack).cancel(view.id)
    assert isinstance((await until_closed(stack, view.id)).cause, CancelledError)
    assert (await desk(stack).show(view.id)).status is RequestStatus.CANCELLED
    stack.simulator.llm.configure(latency=0)
    await desk(stack).retry(view.id)
    assert (await until_over(stack, view.id)).status is RequestStatus.SUCCEEDED
    assert len(stack.simulator.requests.matching("/press/")) == 1


async def test_r2_what_is_asked_for_again_while_it_is_being_cancelled_is_done(harness: Harness) -> None:
    harness.simulator.llm.configure(latency=20)
    url = article(harness, title="On Lamps")
    async with harness.workers():
        view = (await ask(harness, url)).view

        async def is_asking() -> bool:
            return bool(harness.simulator.llm.tally().under_way)

        await eventually(is_asking, what="the question")
    # No worker is there to hear of it: cancelled, then wanted after all.
    harness.simulator.llm.configure(latency=0)
    await desk(harness).cancel(view.id)
    assert (await ask(harness, url)).reception is Reception.RETRIED
    async with harness.workers():
        assert (await until_over(harness, view.id)).status is RequestStatus.SUCCEEDED


async def test_r2_temporals_own_cancel_ends_the_row_too(stack: Harness) -> None:
    stack.simulator.llm.configure(latency=20)
    view = (await ask(stack, article(stack, title="On Lamps"))).view

    async def is_asking() -> bool:
        return bool(stack.simulator.llm.tally().under_way)

    await eventually(is_asking, what="the question")
    await stack.client.get_workflow_handle(view.workflow_id).cancel()
    assert (await until_over(stack, view.id)).status is RequestStatus.CANCELLED


async def test_r6_no_more_are_worked_on_than_the_setting_says(harness: Harness) -> None:
    settings = harness.dependencies.settings.model_copy(update={"request_concurrency": 3})
    harness.simulator.llm.configure(latency=0.02)
    async with (
        harness.another(settings) as stack,
        stack.workers(),
    ):
        urls = [article(stack, title=f"On Lamp {n}", words=80) for n in range(12)]
        views = [one.view for one in await asyncio.gather(*(ask(stack, url) for url in urls))]
        most = 0

        async def all_done() -> bool:
            nonlocal most
            most = max(most, await stack.value("select count(*) from request where status = 'running'"))
            return not await stack.value(
                "select count(*) from request where status in ('pending', 'running')"
            )

        await eventually(all_done, within=90, what="all requests to end")
        assert await stack.value("select count(*) from summary") == len(views)
        assert 0 < most <= 3
        assert stack.simulator.llm.tally().most_at_once <= 3


async def test_r2_those_who_asked_are_told_once_and_who_waited_has_the_answer(stack: Harness) -> None:
    for name in ("ann", "bob"):
        await stack.reader(name)
    url = article(stack, title="On Lamps")
    stack.simulator.llm.configure(latency=0.3)
    told = await ask(stack, url, user="ann")
    heard = await ask(stack, url, user="bob", wait_seconds=30)
    assert heard.view.status is RequestStatus.SUCCEEDED
    await until_closed(stack, told.view.id)
    messages = stack.simulator.sink.messages()
    assert [message.title for message in messages] == ["Summary: On Lamps"]
    assert stack.simulator.sink.messages("ann")
    assert not stack.simulator.sink.messages("bob")


async def test_i5_an_item_gets_the_summary_whoever_asked_for_its_page_first(stack: Harness) -> None:
    url = article(stack, title="On Lamps")
    items = [await due_item(stack, f"{url}#{number}", enrich="none") for number in range(3)]

    async def leads() -> list[Any]:
        rows = await stack.rows("select id, lead from item order by id")
        return [row["lead"] for row in rows if row["id"] in items]

    await ask(stack, url)
    joined = await ask(stack, url, item_id=items[0], wait_seconds=30)
    assert joined.view.summary is not None
    words = joined.view.summary.summary.summary_250
    assert await leads() == [words, None, None]
    cached = await ask(stack, url, item_id=items[1])
    assert cached.reception is Reception.CACHED
    assert await leads() == [words, words, None]
    await summarized(stack, url, item_id=items[2], refresh=True)
    assert None not in await leads()


async def test_x7_what_is_no_article_is_named_and_costs_nothing(stack: Harness) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kind": "pdf"}, "unsupported_type"),
        ({"kind": "image"}, "unsupported_type"),
        ({"kind": "login"}, "login_wall"),
        ({"kind": "redirect"}, "blocked_address"),
        ({"kind": "redirect_loop"}, "too_many_redirects"),
        ({"kind": "soft_404"}, "error_page"),
        ({"kind": "status", "status": 404}, "not_found"),
        ({"kind": "short"}, "too_short"),
        ({"kind": "listing"}, "not_an_article"),
        ({"kind": "endless"}, "too_large"),
    ]
    urls = [article(stack, **spec) for spec, _ in wrong]
    views = await asyncio.gather(*(summarized(stack, url) for url in [*urls, "http://10.1.2.3/page"]))
    for view, (_, code) in zip(views, [*wrong, ({}, "blocked_address")], strict=True):
        assert view.error is not None
        assert view.error["error_code"] == code, view.url
        assert (view.error["stage"], view.error["attempt"]) == ("extracting", 1), view.url
    assert not stack.simulator.llm.calls()


async def test_x7_two_languages_are_one_article(stack: Harness) -> None:
    view = await summarized(stack, article(stack, kind="bilingual", title="Zwei"))
    assert view.summary is not None
    assert view.summary.summary.language in ("en", "de")


async def test_x1_a_request_whose_workflow_was_ended_is_taken_up(stack: Harness) -> None:
    stack.simulator.llm.configure(latency=20)
    view = (await ask(stack, article(stack, title="On Lamps"))).view

    async def is_asking() -> bool:
        return bool(stack.simulator.llm.tally().under_way)

    await eventually(is_asking, what="the question")
    await stack.client.get_workflow_handle(view.workflow_id).terminate("somebody did")
    stack.simulator.llm.configure(latency=0)
    await stack.execute("update request set touched_at = touched_at - interval '5 minutes'")
    orphans = await stack.client.execute_workflow(
        "ReconcileWorkflow", id="reconcile-now", task_queue="fascicle", result_type=dict
    )
    assert orphans["requests"] == 1
    assert (await until_over(stack, view.id)).status is RequestStatus.SUCCEEDED


# The one slot is a feed's for so long: on a busy machine the request still ends before half of them.
@pytest.mark.parametrize("overrides", [{"max_concurrent_fetches": 1, "feed_interval_seconds": 1}])
async def test_c2_a_page_that_somebody_waits_for_does_not_wait_for_all_feeds(harness: Harness) -> None:
    wanted = [WantedFeed(url=feed(harness, f"blog-{number}")) for number in range(12)]
    reach = Reach(harness.dependencies, harness.client)
    await import_feeds(reach, wanted, await harness.reader("ann"), watch=False)
    view = (await ask(harness, article(harness, title="On Lamps"))).view
    async with harness.workers():
        await until_over(harness, view.id)
        looked_at = await harness.value("select count(*) from ingestion_run")
    assert looked_at < len(wanted) // 2
