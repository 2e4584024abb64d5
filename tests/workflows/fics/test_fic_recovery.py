"""Fics that were cut off, put off or lost: the database knows what to do, and nobody waits for nothing."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from activities.operations.reconcile import Orphans
from fascicle.domain.fics.fic_plan import FicPlanInput, FicStep
from fascicle.domain.names import MAIN_QUEUE, fic_workflow_id, new_id
from fascicle.services.fics.next_step import FicPlanner, fic_policy
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job
from fascicle.storage.operations import gate as gates
from simulator.faults import Fault
from tests.fics import desk, reader, requests, told, until, until_over, work
from tests.harness import Harness, eventually, terminate_everything


async def _reconcile(stack: Harness) -> int:
    """How many fics were seen to."""
    found: Orphans = await stack.client.execute_workflow(
        "ReconcileWorkflow", id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE, result_type=Orphans
    )
    return found.fics


async def _reconcile_later(stack: Harness) -> int:
    assert await _reconcile(stack) == 0, "what has just been asked for is not neglected"
    await stack.execute("update fic_job set queued_at = queued_at - interval '2 minutes'")
    return await _reconcile(stack)


async def _reset(stack: Harness) -> int:
    return await desk(stack).reset()


@pytest.mark.parametrize(
    ("take_up", "seen_to"),
    [
        # The first calls the next when it is done.
        pytest.param(_reconcile_later, 1, id="reconcile"),
        pytest.param(_reset, 3, id="reset"),
    ],
)
async def test_x1_fics_without_a_workflow_are_taken_up(
    stack: Harness, take_up: Callable[[Harness], Awaitable[int]], seen_to: int
) -> None:
    held = stack.simulator.faults.add(Fault(kind="hold", hold="before", path="/ao3/works", count=1))
    await reader(stack, "mara")
    urls = [work(stack, title=f"Fic {number}", chapters=number) for number in (1, 2, 3)]
    for url in urls:
        await desk(stack).add(url, "mara", wait_seconds=0)
    await eventually(lambda: _held(stack), what="the request to be held")
    await terminate_everything(stack.client)
    stack.simulator.faults.release(held.id, drop=True)
    assert await take_up(stack) == seen_to
    for url in urls:
        assert (await until(stack, url, "done", "error")).state == "done"
    await eventually(lambda: _told_of_all(stack, len(urls)), what="a message about each")
    assert sorted(told(stack, "mara")) == ["Read: Fic 1", "Read: Fic 2", "Read: Fic 3"]
    assert len(requests(stack)) == 1 + 5, "one was lost; the chaptered ones redirect"


async def _held(stack: Harness) -> int:
    return sum(report.held for report in stack.simulator.faults.reports())


async def _told_of_all(stack: Harness, count: int) -> bool:
    return len(told(stack, "mara")) >= count


@pytest.mark.parametrize("take_up", [_reconcile, _reset])
async def test_x1_a_message_on_its_way_when_all_was_lost_is_doubted_and_not_sent_again(
    stack: Harness, take_up: Callable[[Harness], Awaitable[int]]
) -> None:
    await reader(stack, "mara")
    url = work(stack, title="Brief")
    view = await desk(stack).add(url, "mara", wait_seconds=0)
    await stack.client.get_workflow_handle(view.workflow_id).result()
    await stack.execute(
        "update delivery set state = 'sending', next_attempt_at = next_attempt_at - interval '2 minutes'"
    )
    assert await take_up(stack) == 1
    await stack.client.get_workflow_handle(view.workflow_id).result()
    doubtful = await stack.rows(
        """select d.state, l.error_code from delivery d
           join dead_letter l on l.kind = 'deliver' and l.job_key = d.id::text"""
    )
    assert doubtful == [{"state": "unconfirmed", "error_code": "delivery_unconfirmed"}]
    assert told(stack, "mara") == ["Read: Brief"]
    assert await take_up(stack) == 0, "it is a person's business now"


@pytest.mark.parametrize("overrides", [{"fic_tell_start": True}])
async def test_f5_the_start_is_told_before_the_end(stack: Harness) -> None:
    await reader(stack, "mara")
    url = work(stack, title="Brief")
    view = await desk(stack).add(url, "mara", wait_seconds=0)
    await stack.client.get_workflow_handle(view.workflow_id).result()
    assert told(stack, "mara") == [f"Being read: {url}", "Read: Brief"]


@pytest.mark.parametrize("overrides", [{"fic_retry_seconds": 600}])
async def test_f2_who_is_next_goes_at_once_when_the_first_is_put_off(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A timer that would wake the second in any case must not hide that nobody told it.
    monkeypatch.setattr("fascicle.services.fics.next_step.eta_seconds", lambda *_: 300.0)
    held = stack.simulator.faults.add(Fault(status=525, hold="before", path="/ao3/works", count=1))
    first, second = work(stack, title="First"), work(stack, title="Second")
    await desk(stack).add(first, "mara", wait_seconds=0)
    await eventually(lambda: _held(stack), what="the request to be held")
    await desk(stack).add(second, "mara", wait_seconds=0)
    await eventually(lambda: _waits(stack, second), what="the second to know its place")
    stack.simulator.faults.release(held.id)
    assert (await until(stack, second, "done")).state == "done"
    assert (await desk(stack).show(first)).error_code == "transient"


async def _waits(stack: Harness, url: str) -> bool:
    return (await desk(stack).show(url)).waiting_for == "its turn at AO3"


async def test_f3_while_a_person_has_paused_the_archive_no_fic_is_begun_or_given_up(stack: Harness) -> None:
    url = work(stack, title="Patience")
    await reader(stack, "mara")
    async with transaction(stack.dependencies.engine) as connection:
        await gates.pause(connection, "ao3", "paused: they asked", floor=0)
    first = await desk(stack).add(url, "mara", wait_seconds=0)
    waiting = await until(stack, url, "cooldown")
    assert waiting.key == first.key
    await stack.execute("update fic_job set started_at = now() - interval '25 hours'")
    await stack.execute("update gate set paused_at = now() - interval '25 hours'")
    planner = FicPlanner(stack.dependencies.engine, fic_policy(stack.dependencies.settings))
    plan = await planner.plan(FicPlanInput(key=first.key, now=datetime.now(UTC)))
    assert plan.step is FicStep.WAIT
    async with transaction(stack.dependencies.engine) as connection:
        since = await gates.resume(connection, "ao3")
        assert since is not None
        await fic_job.forgive_pause(connection, "ao3", since)
    await stack.client.get_workflow_handle(fic_workflow_id(first.key)).signal("look_again")
    assert (await until_over(stack, first)).state == "done"
    assert requests(stack)
