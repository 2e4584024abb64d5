"""Starting a workflow that may be running, done or forgotten: by its id, so never twice at once."""

from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy as _Conflict
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.names import MAIN_QUEUE
from fascicle.jobs.job import Job


async def start_job(client: Client, job: Job, *, anew: bool = False) -> WorkflowHandle[Any, Any]:
    """Repeatable. Return the running workflow of the job's id, or a new run if an earlier one is done.

    The job's signal reaches it in either case. `anew` replaces a running one with a new run.
    """
    return await client.start_workflow(
        job.workflow,
        job.input,
        id=job.id,
        task_queue=MAIN_QUEUE,
        id_conflict_policy=_Conflict.TERMINATE_EXISTING if anew else _Conflict.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=job.summary,
        priority=job.priority,
        search_attributes=job.search_attributes,
        start_signal=job.signal,
    )


async def start_if_absent(client: Client, job: Job, *, eager: bool = False) -> bool:
    """False: a workflow of that id runs, and nothing was sent to it.

    `eager`: this process may get the first task at once, if it serves the queue.
    """
    try:
        await client.start_workflow(
            job.workflow,
            job.input,
            id=job.id,
            task_queue=MAIN_QUEUE,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary=job.summary,
            priority=job.priority,
            search_attributes=job.search_attributes,
            request_eager_start=eager,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


async def stop_workflow(client: Client, workflow_id: str) -> None:
    """Ask it to stop; one that does not run needs no stopping."""
    await signal_if_running(client, workflow_id, "stop")


async def signal_if_running(client: Client, workflow_id: str, signal: str) -> None:
    try:
        await client.get_workflow_handle(workflow_id).signal(signal)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
