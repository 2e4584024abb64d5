"""MailWorkflow: sends the mail that is owed, with its retries; apart from whoever wrote it."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.mail import DeliverMailResult, MailActivities
    from fascicle.domain.names import DELIVER_QUEUE, MAIL_WORKFLOW_ID
    from workflows import policies
    from workflows.children import start_once

_PRIORITY = Priority(priority_key=2)
# A mail written meanwhile may be due earlier than the retries of those that are known.
_LONGEST_WAIT_SECONDS = 60.0


class MailInput(BaseModel):
    total: DeliverMailResult = DeliverMailResult()
    """What earlier runs of the workflow have done."""


@workflow.defn
class MailWorkflow:
    @workflow.init
    def __init__(self, job: MailInput) -> None:
        self._total = job.total

    @workflow.run
    async def run(self, job: MailInput) -> DeliverMailResult:
        """Round after round until nothing is pending; what could not be sent says so in its row."""
        while True:
            seconds = await self._deliver()
            if seconds is None:
                return self._total
            wait = min(max(1.0, seconds), _LONGEST_WAIT_SECONDS)
            await workflow.sleep(timedelta(seconds=wait), summary="waiting to try the mail server again")
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(MailInput(total=self._total))

    async def _deliver(self) -> float | None:
        """One round; how long until the next is due, None: never."""
        done = await workflow.execute_activity_method(
            MailActivities.deliver_mail,
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary="send the mail that is owed",
        )
        self._total.sent += done.sent
        self._total.failed += done.failed
        self._total.unconfirmed += done.unconfirmed
        return done.next_attempt_seconds


async def start_sending_mail() -> None:
    """Nobody waits for a mail server. Where mail is being sent already, that goes on."""
    await start_once(
        "MailWorkflow",
        MailInput(),
        workflow_id=MAIL_WORKFLOW_ID,
        summary="the mail that is owed",
        priority=_PRIORITY,
        again=True,
    )
