"""The worker of one task queue, which can stop under load without losing a task.

The SDK drops tasks that its last polls bring while it closes: they come back only after their timeout. So a
worker that is about to stop starts no new polls, asks the server to answer the open ones, and closes when
their tasks have arrived.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from temporalio.api.enums.v1 import TaskQueueType, WorkerStatus
from temporalio.api.workflowservice.v1 import ListWorkersRequest, ShutdownWorkerRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker

from fascicle.domain.names import MAIN_QUEUE, PUBLISH_QUEUE
from fascicle.settings.worker_settings import WorkerSettings
from fascicle.temporal.closable_slots import ClosableSlots, WorkflowSlots
from fascicle.temporal.tuning import worker_options

# If the server cannot be asked, polls that brought nothing for so long count as idle.
_QUIET_SECONDS = 0.3
_MOST_SECONDS = 5.0
_LOOK_SECONDS = 0.01
_ANSWER_WITHIN = timedelta(seconds=2)
_POLLED = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)


class QueueWorker(Worker):
    def __init__(self, client: Client, settings: WorkerSettings, queue: str, **served: Any) -> None:
        self._activity_slots = _activity_slots(settings, queue)
        self._workflow_slots = _workflow_slots(settings, queue)
        options = worker_options(
            settings, queue, activity_slots=self._activity_slots, workflow_slots=self._workflow_slots
        )
        super().__init__(client, task_queue=queue, **options, **served)

    def begin_fewer_polls(self) -> None:
        """Poll for cached workflows only: their tasks wait for this worker and reach no other."""
        if self._activity_slots is not None:
            self._activity_slots.close()
        if self._workflow_slots is not None:
            self._workflow_slots.take_no_others()

    def is_quiet(self) -> bool:
        return all(slots.is_quiet(_QUIET_SECONDS) for slots in self._slots)

    async def close(self) -> None:
        """Let the server answer the open polls, and shut down when their tasks have arrived."""
        key = await _key_of(self)
        if self._workflow_slots is not None:
            self._workflow_slots.close()
        told = asyncio.create_task(_end_polls(self, key))
        # The shorter the better: a task for a cached workflow now waits until the SDK itself shuts down.
        await until(lambda: self._has_no_polls() or (told.done() and not told.result()))
        await asyncio.gather(told, self.shutdown())

    def _has_no_polls(self) -> bool:
        return not any(slots.polls for slots in self._slots)

    @property
    def _slots(self) -> list[ClosableSlots]:
        return [slots for slots in (self._activity_slots, self._workflow_slots) if slots is not None]


async def shut_down(workers: Sequence[QueueWorker]) -> None:
    for worker in workers:
        worker.begin_fewer_polls()
    await until(lambda: all(worker.is_quiet() for worker in workers))
    await asyncio.gather(*(worker.close() for worker in workers))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for the condition for some seconds. If tasks keep coming, the last wait for their timeout."""
    for _ in range(int(_MOST_SECONDS / _LOOK_SECONDS)):
        if condition():
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _key_of(worker: QueueWorker) -> str | None:
    """The server's key of this worker; None: the server has no list of workers, or not exactly one fits."""
    query = f"TaskQueue = '{worker.task_queue}' AND HostName = '{socket.gethostname()}'"
    asked = ListWorkersRequest(namespace=worker.client.namespace, query=query, page_size=1000)
    try:
        answer = await worker.client.workflow_service.list_workers(asked, timeout=_ANSWER_WITHIN)
    except RPCError:
        return None
    ours = [one for one in answer.workers if one.process_id == str(os.getpid())]
    running = [one for one in ours if one.status == WorkerStatus.WORKER_STATUS_RUNNING]
    return running[0].worker_instance_key if len(running) == 1 else None


async def _end_polls(worker: QueueWorker, key: str | None) -> bool:
    """Ask the server to answer the worker's polls, with or without a task. Returns whether it does."""
    if key is None:
        return False
    request = ShutdownWorkerRequest(
        namespace=worker.client.namespace,
        identity=worker.client.identity,
        worker_instance_key=key,
        task_queue=worker.task_queue,
        task_queue_types=_POLLED,
    )
    try:
        await worker.client.workflow_service.shutdown_worker(request, timeout=_ANSWER_WITHIN)
    except RPCError:
        return False
    return True


def _activity_slots(settings: WorkerSettings, queue: str) -> ClosableSlots | None:
    """None if the machine's resources decide how many there are."""
    if settings.worker_slots == "resources" and queue != PUBLISH_QUEUE:
        return None
    return ClosableSlots(settings.activity_slots(queue))


def _workflow_slots(settings: WorkerSettings, queue: str) -> WorkflowSlots | None:
    return WorkflowSlots(settings.workflow_slots) if queue == MAIN_QUEUE else None
