"""The worker of one task queue, which can stop in the middle of much work without losing a task.

A poll that ends in the moment in which the server hands it an activity takes that activity along: no worker
runs it, and it comes back only after its heartbeat timeout. So a worker that is about to stop begins no new
poll. Where there is much to do, each poll under way soon ends with an activity, which the worker still runs.
"""

import asyncio
from typing import Any

from temporalio.client import Client
from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    Worker,
)

from fascicle.domain.names import FETCH_QUEUE
from fascicle.runtime.tuning import worker_options
from fascicle.runtime.worker_settings import WorkerSettings


class QueueWorker(Worker):
    def __init__(self, client: Client, settings: WorkerSettings, queue: str, **served: Any) -> None:
        self._slots = _closable_slots(settings, queue)
        options = worker_options(settings, queue, self._slots)
        super().__init__(client, task_queue=queue, **options, **served)

    def begin_no_more_polls(self) -> None:
        """Of activities; those under way go on until `shutdown`."""
        if self._slots is not None:
            self._slots.close()


class ClosableSlots(CustomSlotSupplier):
    """A fixed number of slots for activities."""

    def __init__(self, slots: int) -> None:
        self._free = asyncio.Semaphore(slots)
        self._open = asyncio.Event()
        self._open.set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def close(self) -> None:
        self._open.clear()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        self._loop = asyncio.get_running_loop()
        await self._free.acquire()
        try:
            await self._open.wait()
        except asyncio.CancelledError:
            self._free.release()
            raise
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """Only a worker that has workflows, too, is offered activities without a poll."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """A slot counts from its reservation."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """The SDK calls this from threads of its own."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._free.release)


def _closable_slots(settings: WorkerSettings, queue: str) -> ClosableSlots | None:
    """None where no activity comes once workflows rest: the server repeats only those of this queue."""
    if queue != FETCH_QUEUE or settings.worker_slots == "resources":
        return None
    return ClosableSlots(settings.activity_slots(queue))
