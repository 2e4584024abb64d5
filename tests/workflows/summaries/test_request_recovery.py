"""Requests whose workflow somebody ended, and stages that were done without Temporal hearing of it (R3, X1).
What kill -9 does to them is in tests/chaos."""

import asyncio
from datetime import datetime
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus

from activities.summaries.request import RequestActivities
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.domain.summaries.request import Reception, RequestStatus, RequestView
from simulator.faults import ArmedFault, Fault
from simulator.llm import LlmScript
from simulator.server import RunningSimulator
from tests.harness import Harness, eventually
from tests.requests import article, ask, desk, model_settings, until_closed, until_over


@pytest.fixture
def overrides(simulator: RunningSimulator) -> dict[str, Any]:
    # One slot, so that there is a line; a message that was refused is not soon sent again.
    return model_settings(simulator, request_concurrency=1, retry_base_seconds=60)


@pytest.fixture
def broken_off(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The first activity that is to call the next one breaks off there, and is tried again: what it did is
    committed by then, and nobody was told."""
    times: list[datetime] = []
    call_next = RequestActivities._call_next

    async def break_off_once(activities: RequestActivities, now: datetime) -> None:
        times.append(now)
        if len(times) == 1:
            raise RuntimeError("Temporal did not answer")
        await call_next(activities, now)

    monkeypatch.setattr(RequestActivities, "_call_next", break_off_once)
    return times


async def test_x1_in_whatever_state_its_workflow_was_ended_a_request_is_taken_up(stack: Harness) -> None:
    for name in ("ann", "bob", "cid"):
        await stack.reader(name)
    faults = stack.simulator.faults
    faults.add(Fault(path="/sink/ann", status=503, count=1))
    owing = (await ask(stack, article(stack, title="Owing"), user="ann")).view
    await eventually(lambda: _is_refused(stack), what="a message that is still owed")
    question = faults.add(Fault(kind="hold", hold="before", path="/llm", count=1))
    running = (await ask(stack, article(stack, title="Running"), user="bob")).view
    await eventually(lambda: _holds(question), what="the question")
    pending = (await ask(stack, article(stack, title="Pending"), user="cid")).view
    await eventually(lambda: _is_in_line(stack, pending), what="the line")
    views = (owing, running, pending)
    await asyncio.gather(*(_terminate(stack, view) for view in views))
    assert await _reconcile(stack) == 0, "what has just moved is not neglected"
    assert await _reconcile_later(stack) == 3
    faults.release(drop=True)
    for view in views:
        assert (await until_over(stack, view.id)).status is RequestStatus.SUCCEEDED
        assert (await until_closed(stack, view.id))["status"] in ("succeeded", "over")
    told = sorted((message.name, message.title) for message in stack.simulator.sink.messages())
    assert told == [("ann", "Summary: Owing"), ("bob", "Summary: Running"), ("cid", "Summary: Pending")]
    assert len(stack.simulator.requests.matching("/press/")) == 3, "what was done is not done again"


async def test_x1_those_who_asked_are_told_of_a_failure_that_temporal_did_not_hear_of(
    stack: Harness, broken_off: list[datetime]
) -> None:
    await stack.reader("ann")
    view = (await ask(stack, article(stack, kind="short", title="Too short"), user="ann")).view
    failure = await until_closed(stack, view.id)
    assert failure.cause.type == "too_short"
    assert len(broken_off) == 2
    (message,) = stack.simulator.sink.messages("ann")
    assert message.title.startswith("No summary: ")


async def test_x1_a_request_that_stepped_back_unheard_still_waits_for_its_time(
    stack: Harness, broken_off: list[datetime]
) -> None:
    stack.simulator.llm.script(LlmScript(status=429, retry_after=11, count=None))
    view = (await ask(stack, article(stack, title="On Lamps"))).view

    async def tried_again() -> bool:
        history = await stack.client.get_workflow_handle(view.workflow_id).fetch_history()
        ended = [
            event for event in history.events if event.HasField("activity_task_completed_event_attributes")
        ]
        return bool(broken_off) and len(ended) >= 3  # its turn, the article, and the question at last

    await eventually(tried_again, what="the second attempt")
    workflow = stack.client.get_workflow_handle(view.workflow_id)
    assert (await workflow.describe()).status is WorkflowExecutionStatus.RUNNING
    progress = await workflow.query("progress")
    assert (progress["status"], progress["stage"]) == ("pending", "summarizing")
    assert (await desk(stack).show(view.id)).status is RequestStatus.PENDING


async def test_r2_what_is_tried_again_at_once_is_not_cancelled_by_the_cancel_before(harness: Harness) -> None:
    """Nobody was at work between the two: the workflow hears of both at once."""
    view = (await ask(harness, article(harness, title="On Lamps"))).view
    await desk(harness).cancel(view.id)
    assert (await desk(harness).retry(view.id)).reception is Reception.RETRIED
    async with harness.workers():
        assert (await until_over(harness, view.id)).status is RequestStatus.SUCCEEDED
        assert (await until_closed(harness, view.id))["status"] == "succeeded"


async def _holds(fault: ArmedFault) -> bool:
    return fault.report().held > 0


async def _is_refused(stack: Harness) -> bool:
    return bool(
        await stack.value("select exists (select 1 from delivery where attempts = 1 and state = 'pending')")
    )


async def _is_in_line(stack: Harness, view: RequestView) -> bool:
    return "in line" in ((await desk(stack).show(view.id)).waiting_for or "")


async def _terminate(stack: Harness, view: RequestView) -> None:
    await stack.client.get_workflow_handle(view.workflow_id).terminate("somebody did")


async def _reconcile_later(stack: Harness) -> int:
    await stack.execute(
        """update request set touched_at = touched_at - interval '5 min',
             queued_at = queued_at - interval '5 min'"""
    )
    await stack.execute("update delivery set next_attempt_at = next_attempt_at - interval '5 min'")
    return await _reconcile(stack)


async def _reconcile(stack: Harness) -> int:
    """How many requests were seen to."""
    orphans = await stack.client.execute_workflow(
        "ReconcileWorkflow", id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE, result_type=dict
    )
    return int(orphans["requests"])
