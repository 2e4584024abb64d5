"""Starting a child whose id is its dedup key."""

from temporalio import workflow
from temporalio.common import Priority, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from fascicle.jobs.job import Job
    from fascicle.jobs.notifications import NotifyInput, notify_job

_TRIES = 3


async def start_child(job: Job, *, again: bool = False) -> bool:
    """Start a child that outlives its parent. False: that id is running or done, which is success too.

    `again`: start it even if an earlier run with that id is done.
    """
    reuse = WorkflowIDReusePolicy
    try:
        await workflow.start_child_workflow(
            job.workflow,
            job.input,
            id=job.id,
            parent_close_policy=ParentClosePolicy.ABANDON,
            id_reuse_policy=reuse.ALLOW_DUPLICATE if again else reuse.ALLOW_DUPLICATE_FAILED_ONLY,
            static_summary=job.summary,
            priority=job.priority,
            search_attributes=job.search_attributes,
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


async def tell_followers(notify: NotifyInput, priority: Priority) -> None:
    """Start the chapter's NotifyWorkflow; if it runs already, signal it to check for missed followers."""
    job = notify_job(notify, priority)
    assert job.signal is not None
    for _ in range(_TRIES):
        # Again: the database knows who was notified, and a chapter may be owed to others later.
        started = await start_child(job, again=True)
        if started:
            return
        try:
            await workflow.get_external_workflow_handle(job.id).signal(job.signal)
        except ApplicationError:
            continue  # it has just ended, so it can be started now
        return
