"""MailWorkflow: sends the mail that is owed, with its retries, separately from the code that wrote it."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.notifications.mail import MailActivities
    from fascicle.domain.names import DELIVER_QUEUE
    from fascicle.jobs.notifications import DeliverMailResult, MailInput
    from workflows import policies

# A mail written during the wait may be due before the retries of the known mails.
_LONGEST_WAIT_SECONDS = 60.0


@workflow.defn
class MailWorkflow:
    @workflow.init
    def __init__(self, job: MailInput) -> None:
        self._total = job.total

    @workflow.run
    async def run(self, job: MailInput) -> DeliverMailResult:
        """Send in rounds until nothing is pending. The row of a mail says whether it could be sent."""
        while True:
            seconds = await self._deliver()
            if seconds is None:
                return self._total
            wait = min(max(1.0, seconds), _LONGEST_WAIT_SECONDS)
            await workflow.sleep(timedelta(seconds=wait), summary="waiting to try the mail server again")
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(MailInput(total=self._total))

    async def _deliver(self) -> float | None:
        """Send one round. Returns the seconds until the next is due; None: nothing is pending."""
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
