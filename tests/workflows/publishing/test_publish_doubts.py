"""Where a doubt must not be forgotten, and one row must not hold up the others (P3, P9, X1)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from fascicle.domain.errors import PermanentError, RetryableError, UsageError
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.domain.publishing.post import PostState
from fascicle.jobs.publishing import post_job
from fascicle.storage.database import transaction
from fascicle.storage.operations.gate import Gates
from fascicle.storage.publishing import post as posts
from fascicle.storage.publishing import publication as publishing
from fascicle.temporal.workflow_start import start_job
from simulator.faults import Fault
from tests.harness import Harness, eventually
from tests.publishing import (
    FAST,
    PUBLISH,
    connect_account,
    draft,
    published_titles,
    scheduled,
    state_of,
    story,
    until_over,
)

LOST = {"kind": "reset", "takes_effect": True, "count": 1}
NO_RIGHT = {"status": 403, "body": '{"error":"insufficient_scope"}', "count": 1}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return dict(FAST)


@pytest.fixture
def forgetful_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first word to the gate about an outcome gets lost."""
    heard = {"failed": Gates.failed, "succeeded": Gates.succeeded}
    lost = []

    def losing_the_first(name: str) -> Any:
        async def told(self: Gates, *args: Any, **more: Any) -> Any:
            if name not in lost:
                lost.append(name)
                raise RetryableError("database_down", "gone for a moment")
            return await heard[name](self, *args, **more)  # type: ignore[operator]

        return told

    for name in heard:
        monkeypatch.setattr(Gates, name, losing_the_first(name))


@pytest.mark.usefixtures("forgetful_database")
async def test_x1_the_gates_books_cost_no_answer(stack: Harness) -> None:
    """Lost after publishing, and the database away for a moment: it was sent, so it is looked for."""
    account = await connect_account(stack)
    stack.simulator.faults.add(Fault(path=PUBLISH, **LOST))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]
    assert await stack.value("select intents from post_file") == 1


@pytest.mark.usefixtures("forgetful_database")
async def test_p6_the_gates_books_cost_no_token(harness: Harness) -> None:
    account = await connect_account(harness)
    await harness.execute(
        """insert into gate (name, next_at, queue_until, blocked_until, delay_seconds, failures)
           values (:name, '-infinity', '-infinity', '-infinity', 0, 1)""",
        name=f"deviantart:{account}",
    )
    await harness.execute("update account set access_expires_at = now()")
    given = await harness.dependencies.tokens.bearer(account)
    assert given == await harness.dependencies.tokens.bearer(account)
    assert await harness.value("select paused_at from account") is None


async def test_p3_a_refusal_after_an_unclear_call_is_a_doubt_not_a_failure(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.deviantart.configure(gallery_delay=3600)
    stack.simulator.faults.add(Fault(path=PUBLISH, **LOST))
    stack.simulator.faults.add(Fault(path=PUBLISH, **NO_RIGHT))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "unconfirmed"
    assert published_titles(stack) == ["Ink"]


async def test_p3_what_may_be_out_cannot_be_cancelled(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.deviantart.configure(gallery_delay=3600)
    stack.simulator.faults.add(Fault(path=PUBLISH, **LOST))
    stack.simulator.faults.add(Fault(path=PUBLISH, status=429, retry_after=1, count=1))
    post = await scheduled(stack, account)
    await eventually(lambda: stack.value("select intents = 2 and intent_at is null from post_file"))
    waiting = await eventually(lambda: stack.value("select waiting_for from post"))
    assert "429" in waiting
    with pytest.raises(UsageError, match="is publishing"):
        async with transaction(stack.dependencies.engine) as connection:
            await posts.cancel(connection, post)
    assert await until_over(stack, post) == "published"
    assert published_titles(stack) == ["Ink"]


async def test_p3_the_first_calls_publication_is_found_after_the_second(stack: Harness) -> None:
    """It is dated by the first call, long before the second."""
    account = await connect_account(stack)
    stack.simulator.deviantart.configure(gallery_delay=2)
    stack.simulator.faults.add(Fault(path=PUBLISH, **LOST))
    post = await scheduled(stack, account)
    await eventually(lambda: stack.value("select unclear from post_file"))
    await stack.execute("update post_file set first_intent_at = first_intent_at - interval '1 second'")
    stack.simulator.deviantart.configure(gallery_delay=0)
    assert await until_over(stack, post) == "published"
    assert await stack.value("select url from post_file") == stack.simulator.deviantart.published()[0].url


async def test_x1_a_look_that_was_given_up_changes_nothing(harness: Harness) -> None:
    account = await connect_account(harness)
    post = await draft(harness, account)
    await harness.execute("update post set state = 'publishing', publish_at = now()")
    await harness.execute("update post_file set item_id = '1', intents = 2, intent_at = now()")
    file = await harness.value("select id from post_file")
    async with transaction(harness.dependencies.engine) as connection:
        assert not await publishing.call_was_unclear(connection, post, file, 1)
        await publishing.withdraw_intent(connection, post, file, 1)
        doubted = await publishing.leave_to_a_person(connection, post, file, 1, code="x", message="y")
    assert not doubted
    assert await state_of(harness, post) == PostState.PUBLISHING
    assert await harness.value("select intent_at is not null from post_file")


async def test_p5_each_failure_for_a_lost_right_is_mailed(stack: Harness) -> None:
    account = await connect_account(stack)
    for _ in range(2):
        stack.simulator.faults.add(Fault(path=PUBLISH, **NO_RIGHT))
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "failed"
    async with transaction(stack.dependencies.engine) as connection:
        await posts.retry(connection, post, datetime.now(UTC))
    await start_job(stack.client, post_job(post, title="Ink", account_id=account))
    await eventually(lambda: stack.value("select count(*) = 2 from mail where kind = 'post_failed'"))


@pytest.mark.parametrize(
    "overrides", [{**FAST, "account_interval_seconds": 0.8, "gate_patience_seconds": 0.1}]
)
async def test_p4_a_refused_token_is_renewed_however_wide_the_gate(stack: Harness) -> None:
    account = await connect_account(stack)
    stack.simulator.deviantart.tokens.expire_access("ann")
    post = await scheduled(stack, account)
    assert await until_over(stack, post) == "published"
    assert await stack.value("select generation from account") == 2
    assert await stack.value("select attempts from post") == 0


async def _reconcile(stack: Harness) -> Any:
    return await stack.client.execute_workflow(
        "ReconcileWorkflow", id=f"reconcile-{new_id()}", task_queue=MAIN_QUEUE
    )


async def test_p9_odd_rows_of_another_program_hold_nobody_up(stack: Harness) -> None:
    """One that is `uploading` without a time of ours, one whose last file was taken away."""
    account = await connect_account(stack)
    odd, taken = await draft(stack, account, "Odd"), await draft(stack, account, "Taken", files=2)
    await stack.execute("update post set state = 'uploading', publish_at = now() - interval '1 hour'")
    await stack.execute(
        "update post_file set published_at = now(), item_id = '1' where post_id = :id and position = 1",
        id=taken,
    )
    await stack.execute(
        "update post_file set deleted_at = now() where post_id = :id and position = 2", id=taken
    )
    after = await scheduled(stack, account, "After")
    await _reconcile(stack)
    assert [await until_over(stack, post) for post in (odd, taken, after)] == ["published"] * 3
    assert sorted(published_titles(stack)) == ["After", "Odd"]


@pytest.mark.parametrize("column", ["jitter_seconds = 'NaN'", "publish_at = 'infinity'", "publish_at = null"])
async def test_p9_what_nobody_can_plan_for_is_refused_by_the_table(harness: Harness, column: str) -> None:
    account = await connect_account(harness)
    await draft(harness, account)
    await harness.execute("update post set publish_at = now()")
    with pytest.raises(PermanentError, match="constraint"):
        await harness.execute(f"update post set state = 'scheduled', {column}")


async def test_p2_a_change_of_mind_at_the_very_end_is_heard(stack: Harness) -> None:
    account = await connect_account(stack)
    post = await scheduled(stack, account, due_in=3600)
    handle = stack.client.get_workflow_handle(f"publish-{post}")
    assert await handle.execute_update("cancel") == "cancelled"
    async with transaction(stack.dependencies.engine) as connection:
        await posts.publish_now(connection, post, datetime.now(UTC))
    await start_job(stack.client, post_job(post, title="Ink", account_id=account))
    assert await until_over(stack, post) == "published"
    assert (await story(stack, post)).count("published") == 1
