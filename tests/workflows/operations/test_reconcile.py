"""What nobody looks after (X1): mail that waits, and posts that another program scheduled."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities.operations.reconcile import Orphans, ReconcileActivities, ReconcileInput
from fascicle.domain.names import MAIL_WORKFLOW_ID, MAIN_QUEUE, new_id
from simulator.faults import Fault
from tests.accounts import connect_account
from tests.harness import Harness, eventually
from workflows.operations.reconcile import ReconcileWorkflow


async def owed_mail(stack: Harness) -> None:
    """To somebody who gets it through the simulator's sink."""
    user_id = await stack.reader("ann")
    await stack.execute(
        """insert into mail (account_id, kind, dedup_key, subject, body)
           values (:account, 'test', 'k', 'Owed', 'b')""",
        account=await connect_account(stack, user_id=user_id),
    )


async def reconcile(stack: Harness) -> Orphans:
    return await stack.client.execute_workflow(
        ReconcileWorkflow.run, id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE
    )


async def mail_state(stack: Harness, state: str) -> None:
    await eventually(lambda: stack.value("select bool_and(state = :state) from mail", state=state))


async def test_x1_a_mail_server_that_hangs_keeps_nobody_else(stack: Harness) -> None:
    await owed_mail(stack)
    hanging = stack.simulator.faults.add(Fault(path="/sink/ann", kind="hold", hold="before", count=1))
    assert (await reconcile(stack)).mail_waits

    async def hangs() -> bool:
        return hanging.report().held > 0

    await eventually(hangs)
    assert not (await reconcile(stack)).mail_waits
    stack.simulator.faults.release(hanging.id)
    await mail_state(stack, "sent")
    sending = stack.client.get_workflow_handle(MAIL_WORKFLOW_ID)

    async def over() -> bool:
        return (await sending.describe()).status == WorkflowExecutionStatus.COMPLETED

    await eventually(over, what="the end of sending")


async def test_x1_a_mail_whose_sender_died_is_seen_to(stack: Harness) -> None:
    await owed_mail(stack)
    await stack.execute("update mail set state = 'sending', sending_at = now() - interval '50 seconds'")
    assert not (await reconcile(stack)).mail_waits
    await stack.execute("update mail set sending_at = now() - interval '70 seconds'")
    assert (await reconcile(stack)).mail_waits
    await mail_state(stack, "unconfirmed")


class Temporal:
    """Takes every workflow but one."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self._at_once = 0
        self.most_at_once = 0

    async def start_workflow(self, _: str, post: Any, **__: Any) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(0)
        self._at_once -= 1
        if post.post_id == "p250":
            raise RPCError("not that one", RPCStatusCode.UNAVAILABLE, b"")
        self.started.append(post.post_id)


@pytest.mark.parametrize("times", ["now() + n * interval '1 hour'", "'2030-01-01Z'"], ids=["apart", "one"])
async def test_p9_however_many_another_program_schedules_all_are_seen_to(
    harness: Harness, times: str
) -> None:
    await harness.execute(
        f"""insert into post (id, account_id, title, state, publish_at)
            select 'p' || n, :account, 't', 'scheduled', {times} from generate_series(1, 450) n""",
        account=await connect_account(harness),
    )
    temporal, short = Temporal(), timedelta(minutes=1)
    activities = ReconcileActivities(
        harness.dependencies.engine,
        temporal,  # type: ignore[arg-type]
        told_within=short,
        sweep_is_fresh_for=short,
    )
    found = await ActivityEnvironment().run(activities.find_orphans, ReconcileInput(now=datetime.now(UTC)))
    assert (found.posts, len(set(temporal.started)), len(temporal.started)) == (449, 449, 449)
    assert temporal.most_at_once == 10
