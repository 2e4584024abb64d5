"""Slots that can be closed: a worker that is about to stop starts no new polls.

Each poll holds a slot; if it brings a task, the task keeps the slot until it is done. The SDK reports both
from its own threads, so all changes are made in the event loop.
"""

import asyncio
import time
from collections.abc import Callable

from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)


class ClosableSlots(CustomSlotSupplier):
    """A fixed number of slots for activities."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._polling: set[SlotPermit] = set()
        self._working: set[SlotPermit] = set()
        self._closed = False
        self._last_task_at = time.monotonic()
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def close(self) -> None:
        """Start no new polls. Open polls continue, and their tasks are done."""
        self._closed = True

    @property
    def polls(self) -> int:
        """The number of open polls."""
        return len(self._polling)

    def is_quiet(self, seconds: float) -> bool:
        """Is no poll open, or has none brought a task for so long?"""
        return not self._polling or self._idle_for(seconds)

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        self._loop = asyncio.get_running_loop()
        while not self._may_poll(ctx):
            self._changed.clear()
            await self._changed.wait()
        slot = self._slot_for(ctx)
        self._polling.add(slot)
        return slot

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """For a task that the server could hand out without a poll. Such tasks wait for a poll instead."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        self._soon(self._note_task, ctx.permit)

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        self._soon(self._take_back, ctx.permit)

    def _may_poll(self, ctx: SlotReserveContext) -> bool:
        return not self._closed and len(self._polling) + len(self._working) < self._slots

    def _slot_for(self, ctx: SlotReserveContext) -> SlotPermit:
        return SlotPermit()

    def _idle_for(self, seconds: float) -> bool:
        return time.monotonic() - self._last_task_at >= seconds

    def _note_task(self, slot: SlotPermit) -> None:
        self._polling.discard(slot)
        self._working.add(slot)
        self._last_task_at = time.monotonic()
        self._changed.set()

    def _take_back(self, slot: SlotPermit) -> None:
        self._polling.discard(slot)
        self._working.discard(slot)
        self._changed.set()

    def _soon(self, change: Callable[[SlotPermit], None], slot: SlotPermit) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(change, slot)


class WorkflowSlots(ClosableSlots):
    """Slots for workflow tasks, at least two, which two kinds of polls share.

    Sticky polls ask for tasks of workflows in this worker's cache, the others for tasks of all other
    workflows. The SDK balances the two only if it knows the number of slots, which Python cannot tell it. So
    the polls of one kind never take the slots of the other, and its tasks never take the last slot.
    """

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self._most_polls = max(1, (slots - 1) // 2)
        self._takes_others = True

    def take_no_others(self) -> None:
        """Poll for cached workflows only: their tasks wait for this worker and reach no other."""
        self._takes_others = False
        # Running activities will end, each with a task for a workflow.
        self._last_task_at = time.monotonic()

    def is_quiet(self, seconds: float) -> bool:
        """Is no task being worked on, and has none come for so long?"""
        return not self._working and self._idle_for(seconds)

    def _may_poll(self, ctx: SlotReserveContext) -> bool:
        if not (ctx.is_sticky or self._takes_others):
            return False
        polls = _count(self._polling, ctx.is_sticky)
        held = polls + _count(self._working, ctx.is_sticky)
        return super()._may_poll(ctx) and polls < self._most_polls and held < self._slots - 1

    def _slot_for(self, ctx: SlotReserveContext) -> SlotPermit:
        return _WorkflowSlot(ctx.is_sticky)


class _WorkflowSlot(SlotPermit):
    def __init__(self, is_sticky: bool) -> None:
        self.is_sticky = is_sticky


def _count(slots: set[SlotPermit], is_sticky: bool) -> int:
    return sum(isinstance(slot, _WorkflowSlot) and slot.is_sticky == is_sticky for slot in slots)
