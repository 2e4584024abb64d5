"""Starting a child whose id is its dedup key."""

from temporalio import workflow
from temporalio.common import Priority, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel


async def start_once(
    child: str, arg: BaseModel, *, workflow_id: str, summary: str, priority: Priority, again: bool = False
) -> bool:
    """Start a child that outlives its parent. False: that id is running or done, which is success too.

    `again`: being done is no reason not to.
    """
    reuse = WorkflowIDReusePolicy
    try:
        await workflow.start_child_workflow(
            child,
            arg,
            id=workflow_id,
            parent_close_policy=ParentClosePolicy.ABANDON,
            id_reuse_policy=reuse.ALLOW_DUPLICATE if again else reuse.ALLOW_DUPLICATE_FAILED_ONLY,
            static_summary=summary,
            priority=priority,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True
