"""Slots of a worker: shared by two kinds of polls, and closed before it stops (O2)."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.worker import SlotPermit

from fascicle.temporal.closable_slots import ClosableSlots, WorkflowSlots


def poll(slots: ClosableSlots, *, is_sticky: bool = False) -> asyncio.Task[SlotPermit]:
    context: Any = SimpleNamespace(is_sticky=is_sticky)
    return asyncio.create_task(slots.reserve_slot(context))


async def began(
    slots: ClosableSlots, count: int, *, is_sticky: bool = False
) -> list[asyncio.Task[SlotPermit]]:
    """Those polls of so many that found a slot."""
    polls = [poll(slots, is_sticky=is_sticky) for _ in range(count)]
    await asyncio.sleep(0)
    return [one for one in polls if one.done()]


async def brings_a_task(slots: ClosableSlots, one: asyncio.Task[SlotPermit]) -> None:
    context: Any = SimpleNamespace(permit=one.result())
    slots.mark_slot_used(context)
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(("slots", "polls"), [(2, 1), (3, 1), (8, 3)])
async def test_polls_of_one_kind_leave_slots_for_the_other(slots: int, polls: int) -> None:
    shared = WorkflowSlots(slots)
    assert len(await began(shared, slots, is_sticky=True)) == polls
    assert len(await began(shared, slots)) == polls


async def test_tasks_of_one_kind_never_take_the_last_slot() -> None:
    slots = WorkflowSlots(3)
    for _ in range(2):
        [one] = await began(slots, 1, is_sticky=True)
        await brings_a_task(slots, one)
    assert not await began(slots, 1, is_sticky=True)
    assert len(await began(slots, 1)) == 1


async def test_closed_slots_begin_no_polls_and_count_those_under_way() -> None:
    slots = ClosableSlots(3)
    first, second = await began(slots, 2)
    slots.close()
    assert not await began(slots, 1)
    await brings_a_task(slots, first)
    assert slots.polls == 1
    released: Any = SimpleNamespace(permit=second.result())
    slots.release_slot(released)
    await asyncio.sleep(0.01)
    assert slots.polls == 0
    assert slots.is_quiet(60)


async def test_a_worker_that_stops_still_polls_for_workflows_that_it_remembers() -> None:
    slots = WorkflowSlots(4)
    slots.take_no_others()
    assert not await began(slots, 1)
    assert len(await began(slots, 1, is_sticky=True)) == 1
