"""NotifyWorkflow: everyone once, whatever their services do (C8, P3, X1)."""

from typing import Any

import pytest

from fascicle.jobs.operations import ReplayLettersInput
from simulator.faults import Fault
from starter.context import Reach
from starter.operations import dead_letters
from tests.harness import Harness, eventually


async def released(stack: Harness, *followers: str) -> dict[str, Any]:
    """A synced source with followers, and a new chapter found."""
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    for name in followers:
        await stack.follow(name, source["series_id"])
    stack.release(series)
    await stack.poll(source)
    return source


async def states(stack: Harness) -> list[str]:
    rows = await stack.rows("select state from delivery order by id")
    return [row["state"] for row in rows]


async def test_c8_a_service_that_fails_at_first_gets_the_message_once(stack: Harness) -> None:
    stack.simulator.faults.add(Fault(path="/sink/bob", status=503, count=1))
    await released(stack, "ann", "bob")
    await stack.messages(2)
    await stack.all_quiet()
    assert [m.name for m in stack.simulator.sink.messages()] == ["ann", "bob"], "ann was not kept waiting"
    assert await states(stack) == ["sent", "sent"]
    assert await stack.value("select max(attempts) from delivery") == 2


async def test_c8_who_cannot_be_reached_is_buried_and_can_be_replayed(harness: Harness) -> None:
    harness.simulator.faults.add(Fault(path="/sink/bob", status=500))
    async with harness.workers():
        await released(harness, "ann", "bob")
        await eventually(lambda: harness.value("select count(*) from dead_letter"))
        [letter] = await harness.rows("select * from dead_letter")
        assert (letter["kind"], letter["error_code"]) == ("deliver", "delivery_failed")
        assert letter["attempts"] == 5
        assert [m.name for m in harness.simulator.sink.messages()] == ["ann"]
        harness.simulator.faults.clear()
        wanted = ReplayLettersInput(code="delivery_failed")
        await dead_letters.replay_letters(Reach(harness.dependencies, harness.client), wanted, [letter])
        await harness.messages(2)
        await harness.all_quiet()
        assert [m.name for m in harness.simulator.sink.messages()] == ["ann", "bob"]


async def test_p3_a_message_that_may_have_arrived_is_never_sent_again(stack: Harness) -> None:
    stack.simulator.faults.add(Fault(path="/sink/ann", kind="reset", takes_effect=True))
    await released(stack, "ann")
    await stack.messages(1)
    await stack.all_quiet()
    assert await states(stack) == ["unconfirmed"]
    assert len(stack.simulator.sink.messages()) == 1
    assert await stack.value("select error_code from dead_letter") == "delivery_unconfirmed"


@pytest.mark.parametrize("overrides", [{"retry_base_seconds": 3}])
async def test_x1_a_sender_that_died_while_sending_leaves_a_doubt_not_a_double(harness: Harness) -> None:
    series = harness.series(chapters=3)
    async with harness.workers():
        source = await harness.add_and_sync(series)
        await harness.follow("ann", source["series_id"])
        await harness.follow("bob", source["series_id"])
        harness.simulator.faults.add(Fault(path="/sink", status=500))
        harness.release(series)
        await harness.poll(source)
        await eventually(lambda: _both_failed_once(harness))
    # As if it had been killed between "about to send" and "sent" to the first of them.
    await harness.execute(
        """update delivery set state = case when id = (select min(id) from delivery) then 'sending'
             else 'pending' end, next_attempt_at = now()"""
    )
    harness.simulator.faults.clear()
    async with harness.workers():
        await harness.messages(1)
        await harness.all_quiet()
    assert await states(harness) == ["unconfirmed", "sent"]
    assert len(harness.simulator.sink.messages()) == 1


async def _both_failed_once(harness: Harness) -> bool:
    tried = "select count(*) from delivery where state = 'pending' and attempts = 1"
    return bool(await harness.value(tried) == 2)


async def test_c8_followers_without_a_channel_and_those_who_left(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.follow("gone", source["series_id"])
    await stack.execute(
        "delete from library_entry where user_id = (select id from app_user where name = 'gone')"
    )
    await stack.execute("delete from channel")
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    rows = await stack.rows("select name from notification join app_user on app_user.id = user_id")
    assert rows == [{"name": "ann"}], "the row is there although there is no way to send it"
    assert stack.simulator.sink.messages() == []


async def test_c8_a_thousand_followers_are_paged_and_none_is_missed(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.execute(
        """with people as (insert into app_user (id, name) select 'u' || n, 'user ' || n
             from generate_series(1, 2500) n returning id)
           insert into library_entry (user_id, series_id) select id, :series from people""",
        series=source["series_id"],
    )
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.value("select count(distinct user_id) from notification") == 2500
    assert await stack.value("select count(*) from notification") == 2500
