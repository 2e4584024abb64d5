"""Sending the mail that is owed, from any workflow that has written some."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.mail import DeliverMailResult, MailActivities
    from fascicle.domain.names import DELIVER_QUEUE
    from workflows import policies

# Retries further off are left to whoever sends mail next.
_PATIENCE_SECONDS = 900.0


async def deliver_owed_mail() -> DeliverMailResult:
    """All of it, with the retries; what could not be sent says so in its row."""
    total = DeliverMailResult()
    waited = 0.0
    while True:
        done = await _deliver()
        total.sent += done.sent
        total.failed += done.failed
        total.unconfirmed += done.unconfirmed
        total.next_attempt_seconds = done.next_attempt_seconds
        if done.next_attempt_seconds is None or waited + done.next_attempt_seconds > _PATIENCE_SECONDS:
            return total
        wait = max(1.0, done.next_attempt_seconds)
        waited += wait
        await workflow.sleep(timedelta(seconds=wait), summary="waiting to try the mail server again")


async def _deliver() -> DeliverMailResult:
    return await workflow.execute_activity_method(
        MailActivities.deliver_mail,
        task_queue=DELIVER_QUEUE,
        start_to_close_timeout=timedelta(minutes=30),
        heartbeat_timeout=timedelta(seconds=15),
        retry_policy=policies.NOTIFY,
        summary="send the mail that is owed",
    )
