"""Messages about a chapter, and the mail that is owed."""

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import MAIL_WORKFLOW_ID, notify_workflow_id
from fascicle.jobs.job import Job


class NotifyInput(BaseModel):
    series_id: str
    chapter_id: int
    label: str = ""
    """The chapter's name in the Web UI."""
    delay_seconds: float = 0
    """The wait before notifying: another source may soon have the chapter, and followers can then choose."""
    inherited: bool = False
    """The workflow that was sending before has ended; a delivery that it left unsettled is in doubt."""


def notify_job(notify: NotifyInput, priority: Priority = Priority.default) -> Job:
    """The signal makes a workflow that is just ending look once more for followers without a message."""
    return Job(
        workflow="NotifyWorkflow",
        input=notify,
        id=notify_workflow_id(notify.series_id, notify.chapter_id),
        summary=for_web_ui(f"followers of {notify.label}"),
        priority=priority,
        attributes={"SeriesId": notify.series_id},
        signal="deliver_again",
    )


class DeliverMailResult(BaseModel):
    sent: int = 0
    failed: int = 0
    unconfirmed: int = 0
    next_attempt_seconds: float | None = None
    """When the next round is due; None: nothing is pending."""


class MailInput(BaseModel):
    total: DeliverMailResult = DeliverMailResult()
    """The totals of the workflow's earlier runs."""


def mail_job() -> Job:
    return Job(
        workflow="MailWorkflow",
        input=MailInput(),
        id=MAIL_WORKFLOW_ID,
        summary="the mail that is owed",
        priority=Priority(priority_key=2),
    )
