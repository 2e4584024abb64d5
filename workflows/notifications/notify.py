"""NotifyWorkflow: tell the followers of one chapter, each once."""

import contextlib
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.notifications.notify import (
        AnnounceInput,
        AnnounceResult,
        DeliverInput,
        DeliverResult,
        NotifyActivities,
    )
    from activities.operations.dead_letter import BuryInput, DeadLetterActivities
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import DELIVER_QUEUE
    from fascicle.jobs.notifications import NotifyInput
    from workflows import policies
    from workflows.failures import error_record


class NotifyResult(BaseModel):
    followers: int = 0
    told: int = 0
    sent: int = 0
    failed: int = 0
    unconfirmed: int = 0


@workflow.defn
class NotifyWorkflow:
    def __init__(self) -> None:
        self._result = NotifyResult()
        self._again = False

    @workflow.run
    async def run(self, notify: NotifyInput) -> NotifyResult:
        await self._wait_for_other_sources(notify)
        try:
            await self._announce_and_deliver(notify)
        except ActivityError as error:
            await self._bury(notify, error)
            raise ApplicationError(
                f"Followers of {notify.label} could not be told", non_retryable=True
            ) from error
        return self._result

    @workflow.signal
    def deliver_again(self) -> None:
        """Run another round before ending: the chapter is owed again, or a delivery was put back."""
        self._again = True

    @workflow.query
    def progress(self) -> NotifyResult:
        return self._result

    async def _wait_for_other_sources(self, notify: NotifyInput) -> None:
        if notify.delay_seconds > 0:
            await workflow.sleep(
                timedelta(seconds=notify.delay_seconds),
                summary=for_web_ui(f"before telling of {notify.label}: other sources may bring it too"),
            )

    async def _announce_and_deliver(self, notify: NotifyInput) -> None:
        self._again = True
        while self._again:
            self._again = False
            await self._announce(notify)
            await self._deliver_until_settled(notify)

    async def _announce(self, notify: NotifyInput) -> None:
        announced: AnnounceResult = await workflow.execute_activity_method(
            NotifyActivities.announce_chapter,
            AnnounceInput(chapter_id=notify.chapter_id, now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary=for_web_ui(f"a row for each follower of {notify.label}"),
        )
        self._result.followers = max(self._result.followers, announced.followers)
        self._result.told += announced.told

    async def _deliver_until_settled(self, notify: NotifyInput) -> None:
        while not self._again:
            done = await self._deliver_round(notify)
            self._result.sent += done.sent
            self._result.failed += done.failed
            self._result.unconfirmed += done.unconfirmed
            if done.next_attempt_seconds is None:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(notify.model_copy(update={"delay_seconds": 0}))
            await self._wait_for_next_attempt(done.next_attempt_seconds)

    async def _wait_for_next_attempt(self, seconds: float) -> None:
        why = "waiting to try the failed deliveries again"
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._again,
                timeout=timedelta(seconds=max(0.2, seconds)),
                timeout_summary=for_web_ui(why),
            )

    async def _deliver_round(self, notify: NotifyInput) -> DeliverResult:
        return await workflow.execute_activity_method(
            NotifyActivities.deliver_due,
            DeliverInput(chapter_id=notify.chapter_id, now=workflow.now(), shared=not notify.inherited),
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            priority=Priority(priority_key=1, fairness_key=notify.series_id),
            summary=for_web_ui(f"messages about {notify.label}"),
        )

    async def _bury(self, notify: NotifyInput, error: ActivityError) -> None:
        await workflow.execute_activity_method(
            DeadLetterActivities.bury,
            BuryInput(
                kind="notify",
                job_key=f"{notify.series_id}:{notify.chapter_id}",
                job_input=notify.model_dump(mode="json"),
                error=error_record(error),
                attempts=policies.NOTIFY.maximum_attempts,
                now=workflow.now(),
            ),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="to the dead letters",
        )
