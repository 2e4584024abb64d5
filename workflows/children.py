"""Starting a child whose id is its dedup key."""

from collections.abc import Mapping

from temporalio import workflow
from temporalio.common import (
    Priority,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import notify_workflow_id

_TRIES = 3


async def start_once(
    child: str,
    arg: BaseModel,
    *,
    workflow_id: str,
    summary: str,
    priority: Priority,
    again: bool = False,
    attributes: Mapping[str, str] | None = None,
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
            search_attributes=keywords(attributes or {}),
        )
    except WorkflowAlreadyStartedError:
        return False
    return True


def keywords(attributes: Mapping[str, str]) -> TypedSearchAttributes:
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
            for name, value in attributes.items()
        ]
    )


class NotifyInput(BaseModel):
    series_id: str
    chapter_id: int
    label: str = ""
    """What the Web UI calls the chapter."""
    delay_seconds: float = 0
    """Another source may have the chapter in a moment; those who are told then can choose."""
    inherited: bool = False
    """Whoever was sending before is over: what it did not settle is in doubt."""


async def tell_followers(notify: NotifyInput, priority: Priority) -> None:
    """Start telling. Where that is going on already, it is to look again for whom it missed."""
    workflow_id = notify_workflow_id(notify.series_id, notify.chapter_id)
    for _ in range(_TRIES):
        started = await start_once(
            "NotifyWorkflow",
            notify,
            workflow_id=workflow_id,
            summary=for_web_ui(f"followers of {notify.label}"),
            priority=priority,
            again=True,  # the database knows who was told; a chapter may be owed to others later
            attributes={"SeriesId": notify.series_id},
        )
        if started:
            return
        try:
            await workflow.get_external_workflow_handle(workflow_id).signal("deliver_again")
        except ApplicationError:
            continue  # it ended just now: then it can be started
        return
