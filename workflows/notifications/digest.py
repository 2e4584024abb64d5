"""DigestWorkflow: started by a Schedule; one message for each user whose digest hour has come (C8)."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.notifications.notify import (
        ComposeInput,
        ComposeResult,
        DeliverInput,
        DeliverResult,
        NotifyActivities,
    )
    from fascicle.domain.names import DELIVER_QUEUE
    from workflows import policies

# Later retries are left to the next run: users whose hour comes by then must not wait for them.
_PATIENCE_SECONDS = 60.0


class DigestResult(BaseModel):
    digests: int = 0
    sent: int = 0
    failed: int = 0
    unconfirmed: int = 0


@workflow.defn
class DigestWorkflow:
    @workflow.run
    async def run(self) -> DigestResult:
        composed = await self._compose()
        result = DigestResult(digests=composed.digests)
        waited = 0.0
        while composed.pending:
            done = await self._deliver()
            result.sent += done.sent
            result.failed += done.failed
            result.unconfirmed += done.unconfirmed
            wait = done.next_attempt_seconds
            if wait is None or waited + wait > _PATIENCE_SECONDS:
                break
            wait = max(0.2, wait)
            waited += wait
            await workflow.sleep(timedelta(seconds=wait), summary="waiting to try the failed digests again")
        return result

    async def _compose(self) -> ComposeResult:
        return await workflow.execute_activity_method(
            NotifyActivities.compose_digests,
            ComposeInput(now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary="put together what is due",
        )

    async def _deliver(self) -> DeliverResult:
        return await workflow.execute_activity_method(
            NotifyActivities.deliver_due,
            DeliverInput(chapter_id=None, now=workflow.now()),
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary="send the digests",
        )
