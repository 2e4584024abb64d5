"""Steering a post, and posts that nobody looks after (P2, P9)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError

from fascicle.domain.names import MAIN_QUEUE, new_id, publish_workflow_id
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from simulator.faults import Fault
from tests.harness import Harness, eventually
from tests.publishing import (
    FAST,
    PUBLISH,
    SUBMIT,
    connect_account,
    draft,
    published_titles,
    scheduled,
    until_over,
    until_state,
)


@pytest.fixture
def overrides() -> dict[str, Any]:
    return dict(FAST)


async def test_p2_people_steer_a_post_through_its_workflow(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, due_in=3600)
    handle = stack.client.get_workflow_handle(publish_workflow_id(post))
    assert await handle.execute_update("reschedule", "2030-01-01T12:00Z") == "scheduled"
    due = await eventually(lambda: stack.value("select due_at from post"))
    assert due == datetime(2030, 1, 1, 12, tzinfo=UTC)
    with pytest.raises(WorkflowUpdateFailedError):
        await handle.execute_update("reschedule", "2030-01-01 12:00")
    assert await handle.execute_update("publish_now") == "scheduled"
    assert await until_over(stack, post) == "published"


async def test_p2_what_is_cancelled_never_goes_out(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, due_in=3600)
    handle = stack.client.get_workflow_handle(publish_workflow_id(post))
    assert await handle.execute_update("cancel") == "cancelled"
    assert (await handle.result())["state"] == "cancelled"
    other = await scheduled(stack, account, "Other", due_in=3600)
    await eventually(lambda: stack.value("select due_at from post where id = :id", id=other))
    await stack.client.get_workflow_handle(publish_workflow_id(other)).cancel()
    await until_state(stack, other, "cancelled")
    assert published_titles(stack) == []


async def test_p2_what_is_cancelled_while_it_is_uploaded_is_not_published(stack: Harness) -> None:
    account = await connect_account(stack)
    armed = stack.simulator.faults.add(Fault(path=SUBMIT, kind="hold", hold="after", count=1))
    post = await scheduled(stack, account)

    async def held() -> bool:
        return armed.report().held > 0

    await eventually(held)
    async with transaction(stack.dependencies.engine) as connection:
        await posts.cancel(connection, post)
    stack.simulator.faults.release(armed.id)
    assert await until_over(stack, post) == "cancelled"
    assert published_titles(stack) == []
    assert len(stack.simulator.deviantart.orphans()) == 1


async def _reconcile(stack: Harness) -> Any:
    return await stack.client.execute_workflow(
        "ReconcileWorkflow", id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE
    )


async def test_p9_rows_of_another_program_get_their_workflow(stack: Harness) -> None:
    account = await connect_account(stack)
    mine = await draft(stack, account)
    await stack.execute(
        """with added as (insert into post (account_id, title, state, publish_at)
             values (:account, 'Theirs', 'scheduled', now()) returning id)
           insert into post_file (post_id, object_key, file_name)
           select added.id, f.object_key, 'theirs.png' from added, post_file f where f.post_id = :mine""",
        account=account,
        mine=mine,
    )
    assert (await _reconcile(stack))["posts"] == 1
    theirs = await stack.value("select id from post where title = 'Theirs'")
    assert await until_over(stack, theirs) == "published"
    assert (await _reconcile(stack))["posts"] == 0
    assert published_titles(stack) == ["Theirs"]


async def test_p9_a_time_that_another_program_changed_is_noticed(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, due_in=3600)
    await eventually(lambda: stack.value("select planned_for from post"))
    await stack.execute("update post set publish_at = now()")
    assert (await _reconcile(stack))["posts"] == 1
    assert await until_over(stack, post) == "published"


async def test_p9_a_post_whose_workflow_is_gone_is_picked_up_where_it_was(stack: Harness) -> None:
    account = await connect_account(stack)
    armed = stack.simulator.faults.add(
        Fault(path=PUBLISH, kind="hold", hold="after", count=1, hold_seconds=2)
    )
    post = await scheduled(stack, account, due_in=-120)

    async def held() -> bool:
        return armed.report().held > 0

    await eventually(held)
    await stack.client.get_workflow_handle(publish_workflow_id(post)).terminate("lost")
    assert (await _reconcile(stack))["posts"] == 1
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]
