"""AutomationWorkflow on real servers: what it schedules, and what does not stop it (P7)."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities.publishing.automation import (
    AutomationActivities,
    FireInput,
    FireResult,
    LookAfterInput,
    ScheduledPost,
)
from fascicle.domain.errors import RetryableError
from fascicle.domain.names import MAIN_QUEUE, new_id, publish_workflow_id
from fascicle.services.dependencies import utc_now
from fascicle.storage.database import transaction
from fascicle.storage.publishing import sale as sales
from tests.drafts import add_account, add_automation, add_draft
from tests.harness import Harness
from tests.publishing import FAST, connect_account, draft, until_over

ALWAYS = {"kind": "fixed_interval", "every_minutes": 5}


@pytest.fixture
def overrides() -> dict[str, Any]:
    return dict(FAST)


@pytest.fixture
async def account(stack: Harness) -> Harness:
    """Ann, who has two drafts."""
    async with transaction(stack.dependencies.engine) as connection:
        await add_account(connection)
        await add_draft(connection, f"a{new_id()}")
        await add_draft(connection, f"b{new_id()}")
    return stack


async def automate(stack: Harness, name: str = "often", *, minutes_ago: float = 7, **columns: Any) -> str:
    """With a jitter of a day, so that what it schedules stays that."""
    since = utc_now() - timedelta(minutes=minutes_ago)
    async with transaction(stack.dependencies.engine) as connection:
        return await add_automation(
            connection, name, active_since=since, **{"rule": ALWAYS, "jitter_seconds": 86400.0, **columns}
        )


async def run(stack: Harness) -> FireResult:
    result: FireResult = await stack.client.execute_workflow(
        "AutomationWorkflow", id=f"automations-{new_id()}", task_queue=MAIN_QUEUE, result_type=FireResult
    )
    return result


async def outcomes(stack: Harness) -> list[tuple[str, str]]:
    rows = await stack.rows("select automation_id, outcome from automation_run order by id")
    return [(row["automation_id"], row["outcome"]) for row in rows]


async def test_p7_a_due_window_schedules_a_draft_and_somebody_looks_after_it(account: Harness) -> None:
    await automate(account)
    result = await run(account)
    [post] = result.scheduled
    assert await account.value("select state from post where id = :id", id=post.post_id) == "scheduled"
    handle = account.client.get_workflow_handle(publish_workflow_id(post.post_id))
    assert (await handle.describe()).workflow_type == "PublishPostWorkflow"
    again = await run(account)
    assert again.scheduled == []
    assert await outcomes(account) == [("often", "scheduled")]


async def test_p7_two_runs_at_once_fire_once(account: Harness) -> None:
    await automate(account)
    await asyncio.gather(*(run(account) for _ in range(3)))
    assert await outcomes(account) == [("often", "scheduled")]
    assert await account.value("select count(*) from post where state = 'draft'") == 1


async def test_p7_one_that_makes_no_sense_does_not_stop_the_others(account: Harness) -> None:
    await automate(account, "a", rule={"kind": "sometimes"})
    await automate(account, "b", time_zone="Mars/Olympus")
    await automate(account, "c", defaults={"title": "x"})
    await automate(account, "d", sale={"points": -1})
    await automate(account, "e", jitter_seconds=float("nan"))
    await automate(account, "f")
    result = await run(account)
    assert (result.failed, len(result.scheduled)) == (5, 1)
    assert (await run(account)).failed == 0, "one note each, not one for each look"
    assert await outcomes(account) == [*((name, "failed") for name in "abcde"), ("f", "scheduled")]
    details = await account.rows("select detail from automation_run where outcome = 'failed' order by id")
    assert [row["detail"]["message"].split(":")[0] for row in details] == [
        "rule", "'Mars/Olympus' is no time zone", "defaults", "sale", "jitter_seconds",
    ]  # fmt: skip
    await account.execute("update automation set rule = cast(:rule as jsonb) where id = 'a'",
                          rule='{"kind": "fixed_interval", "every_minutes": 5}')  # fmt: skip
    assert len((await run(account)).scheduled) == 1, "put right, it fires: nothing was used up"


async def test_p7_what_the_database_refuses_is_in_the_log(account: Harness) -> None:
    await account.execute("alter table post add constraint never check (state <> 'scheduled')")
    await automate(account)
    assert (await run(account)).failed == 1
    assert await outcomes(account) == [("often", "failed")]
    assert await account.value("select count(*) from post where state = 'draft'") == 2


async def test_p7_paused_accounts_keep_their_windows(account: Harness) -> None:
    await automate(account)
    await account.execute("update account set paused_at = now()")
    assert await run(account) == FireResult()
    assert await outcomes(account) == []
    await account.execute("update account set paused_at = null")
    assert len((await run(account)).scheduled) == 1


async def test_p7_without_drafts_the_log_says_so(account: Harness) -> None:
    await account.execute("delete from post")
    await automate(account)
    assert (await run(account)).without_drafts == 1
    assert await outcomes(account) == [("often", "no_drafts")]


async def test_x1_an_attempt_after_a_crash_still_lists_what_the_first_scheduled(account: Harness) -> None:
    await automate(account)
    activities = AutomationActivities(account.dependencies.engine, account.client, every=timedelta(minutes=5))
    order = FireInput(now=utc_now())
    first = await ActivityEnvironment().run(activities.fire_automations, order)
    second = await ActivityEnvironment().run(activities.fire_automations, order)
    assert first == second
    assert len(second.scheduled) == 1


class _Unreachable:
    """A Temporal that is away."""

    async def start_workflow(self, *_: Any, **__: Any) -> None:
        raise RPCError("no answer", RPCStatusCode.UNAVAILABLE, b"")


async def test_x1_while_temporal_is_away_it_is_tried_again(harness: Harness) -> None:
    away: Any = _Unreachable()
    activities = AutomationActivities(harness.dependencies.engine, away, every=timedelta(minutes=5))
    order = LookAfterInput(posts=[ScheduledPost(post_id="p", title="Moon", account_id="a")])
    with pytest.raises(RetryableError, match="no answer"):
        await ActivityEnvironment().run(activities.look_after_posts, order)


async def test_p7_from_the_rule_to_the_site_and_into_the_shop(stack: Harness) -> None:
    account_id = await connect_account(stack)
    post_id = await draft(stack, account_id, "Moon", allow_comments=False)
    defaults = {"tags": ["ink"], "allow_comments": True, "is_mature": True, "mature_level": "moderate"}
    await automate(stack, account_id=account_id, defaults=defaults, jitter_seconds=0.0, sale={"points": 80})
    assert [post.post_id for post in (await run(stack)).scheduled] == [post_id]
    assert await until_over(stack, post_id) == "published"
    [out] = stack.simulator.deviantart.published()
    assert (out.title, out.tags, out.is_mature) == ("Moon", ["ink"], True)
    assert out.options["allow_comments"] == ["0"], "it was somebody's choice"
    async with transaction(stack.dependencies.engine) as connection:
        item = await sales.take_next(connection, "shop", utc_now(), 600)
    assert item is not None
    assert (item.post_id, item.price) == (post_id, {"points": 80})
    assert item.urls == [await stack.value("select url from post_file")]
