"""IngestChapterWorkflow: store one new chapter, then notify its followers."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    FailureError,
    is_cancelled_exception,
)

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.notifications.notify import DeliverInput, DeliverResult, NotifyActivities
    from activities.operations.dead_letter import BuryInput, DeadLetterActivities
    from activities.series.chapter import ChapterActivities, StoreInput, StoreResult
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import DELIVER_QUEUE, STORED_AND_TOLD, ingest_job_key
    from fascicle.jobs.notifications import NotifyInput
    from fascicle.jobs.series import IngestInput
    from workflows import policies
    from workflows.children import tell_followers
    from workflows.failures import error_record
    from workflows.patches import is_patched


class IngestResult(BaseModel):
    chapter_id: int
    new_chapter: bool
    notified: bool
    told: int = 0
    """Followers who got a row with the chapter itself; else NotifyWorkflow counts them."""
    sent: int = 0


@workflow.defn
class IngestChapterWorkflow:
    @workflow.run
    async def run(self, ingest: IngestInput) -> IngestResult:
        try:
            stored = await self._store(ingest)
        except FailureError as error:
            if is_cancelled_exception(error):
                raise
            await self._bury(ingest, error)
            raise ApplicationError(f"{_label(ingest)} could not be stored", non_retryable=True) from error
        result = IngestResult(
            chapter_id=stored.chapter_id,
            new_chapter=stored.new_chapter,
            notified=stored.owed,
            told=stored.told,
        )
        if stored.announced:
            result.sent = await self._deliver(ingest, stored)
        elif stored.owed:
            await self._start_notifying(ingest, stored)
        return result

    async def _store(self, ingest: IngestInput) -> StoreResult:
        """Store the chapter, and in the same transaction its followers' rows unless they must wait."""
        if is_patched(STORED_AND_TOLD, ingest.code):
            return await workflow.execute_local_activity_method(
                ChapterActivities.store_chapter,
                StoreInput(ingest=ingest, now=workflow.now(), announce=True),
                start_to_close_timeout=timedelta(seconds=15),
                retry_policy=policies.INGEST,
                summary=for_web_ui(f"store {_label(ingest)}"),
            )
        else:  # noqa: RET505 - the outlines' check wants the old way in an else
            return await workflow.execute_activity_method(
                ChapterActivities.store_chapter,
                StoreInput(ingest=ingest, now=workflow.now()),
                start_to_close_timeout=timedelta(seconds=15),
                retry_policy=policies.INGEST,
                priority=Priority(priority_key=1, fairness_key=ingest.site),
                summary=for_web_ui(f"store {_label(ingest)}"),
            )

    async def _deliver(self, ingest: IngestInput, stored: StoreResult) -> int:
        """Send one round of messages; NotifyWorkflow sends the rest."""
        if not stored.messages:
            return 0
        try:
            done = await workflow.execute_activity_method(
                NotifyActivities.deliver_due,
                DeliverInput(chapter_id=stored.chapter_id, now=workflow.now(), shared=True),
                task_queue=DELIVER_QUEUE,
                start_to_close_timeout=timedelta(minutes=30),
                heartbeat_timeout=timedelta(seconds=15),
                retry_policy=policies.ONCE,
                priority=Priority(priority_key=1, fairness_key=ingest.series_id),
                summary=for_web_ui(f"messages about {_label(ingest)}"),
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            done = DeliverResult(next_attempt_seconds=0)
        if done.next_attempt_seconds is not None:
            await self._start_notifying(ingest, stored, inherited=True)
        return done.sent

    async def _start_notifying(
        self, ingest: IngestInput, stored: StoreResult, *, inherited: bool = False
    ) -> None:
        notify = NotifyInput(
            series_id=ingest.series_id,
            chapter_id=stored.chapter_id,
            label=_label(ingest),
            delay_seconds=stored.delay_seconds,
            inherited=inherited,
        )
        await tell_followers(notify, Priority(priority_key=1, fairness_key=ingest.series_id))

    async def _bury(self, ingest: IngestInput, error: FailureError) -> None:
        record = error_record(error, of="store_chapter")
        await workflow.execute_activity_method(
            DeadLetterActivities.bury,
            BuryInput(
                kind="ingest",
                job_key=ingest_job_key(ingest.source_id, ingest.chapter.key),
                job_input=ingest.model_dump(mode="json"),
                error=record,
                attempts=policies.INGEST.maximum_attempts if record.retryable else 1,
                now=workflow.now(),
            ),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="to the dead letters",
        )


def _label(ingest: IngestInput) -> str:
    named = ingest.chapter.best.number or ingest.chapter.title or ingest.chapter.key
    return f"{ingest.series_title} {named}"
