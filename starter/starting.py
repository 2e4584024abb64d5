"""Starting a workflow that may be running, done or forgotten: by its id, so never twice at once."""

from typing import Any

from pydantic import BaseModel
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.common import WorkflowIDConflictPolicy as _Conflict
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.names import MAIN_QUEUE, notify_workflow_id
from workflows.children import NotifyInput


async def start_or_join(
    client: Client,
    workflow: str,
    job: BaseModel,
    *,
    workflow_id: str,
    summary: str,
    priority: Priority = Priority.default,
    search_attributes: TypedSearchAttributes = TypedSearchAttributes.empty,
    signal: str | None = None,
    anew: bool = False,
) -> WorkflowHandle[Any, Any]:
    """The workflow of that id: the running one, or a new run even though an earlier one is done.

    `signal` reaches it in either case; `anew` puts a new run in the place of a running one.
    """
    return await client.start_workflow(
        workflow,
        job,
        id=workflow_id,
        task_queue=MAIN_QUEUE,
        id_conflict_policy=_Conflict.TERMINATE_EXISTING if anew else _Conflict.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=summary,
        priority=priority,
        search_attributes=search_attributes,
        start_signal=signal,
    )


async def stop_workflow(client: Client, workflow_id: str) -> None:
    """Tell it to stop; one that does not run needs no stopping."""
    await signal_if_running(client, workflow_id, "stop")


async def signal_if_running(client: Client, workflow_id: str, signal: str) -> None:
    try:
        await client.get_workflow_handle(workflow_id).signal(signal)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise


async def notify_again(client: Client, series_id: str, chapter_id: int) -> None:
    """Have the deliveries of a chapter looked at once more, by the workflow that runs or by a new one."""
    label = f"chapter {chapter_id}"
    await start_or_join(
        client,
        "NotifyWorkflow",
        NotifyInput(series_id=series_id, chapter_id=chapter_id, label=label),
        workflow_id=notify_workflow_id(series_id, chapter_id),
        summary=f"followers of {label}, once more",
        # Without it a run that is just ending would be joined, and the work left undone.
        signal="deliver_again",
    )
