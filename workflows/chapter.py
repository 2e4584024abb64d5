"""IngestChapterWorkflow: one new chapter is stored, then its followers are told."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.chapter import ChapterActivities, IngestInput, StoreInput, StoreResult
    from activities.dead_letter import BuryInput, DeadLetterActivities
    from fascicle.domain.names import ingest_job_key
    from workflows import policies
    from workflows.children import NotifyInput, tell_followers
    from workflows.failures import error_record


class IngestResult(BaseModel):
    chapter_id: int
    new_chapter: bool
    notified: bool


@workflow.defn
class IngestChapterWorkflow:
    @workflow.run
    async def run(self, ingest: IngestInput) -> IngestResult:
        try:
            stored = await self._store(ingest)
        except ActivityError as error:
            await self._bury(ingest, error)
            raise ApplicationError(f"{_label(ingest)} could not be stored", non_retryable=True) from error
        if stored.owed:
            await self._start_notifying(ingest, stored)
        return IngestResult(
            chapter_id=stored.chapter_id, new_chapter=stored.new_chapter, notified=stored.owed
        )

    async def _store(self, ingest: IngestInput) -> StoreResult:
        return await workflow.execute_activity_method(
            ChapterActivities.store_chapter,
            StoreInput(ingest=ingest, now=workflow.now()),
            start_to_close_timeout=timedelta(seconds=15),
            retry_policy=policies.INGEST,
            priority=Priority(priority_key=1, fairness_key=ingest.site),
            summary=f"store {_label(ingest)}",
        )

    async def _start_notifying(self, ingest: IngestInput, stored: StoreResult) -> None:
        notify = NotifyInput(
            series_id=ingest.series_id,
            chapter_id=stored.chapter_id,
            label=_label(ingest),
            delay_seconds=stored.delay_seconds,
        )
        await tell_followers(notify, Priority(priority_key=1, fairness_key=ingest.series_id))

    async def _bury(self, ingest: IngestInput, error: ActivityError) -> None:
        record = error_record(error)
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
    return f"{ingest.series_title} {ingest.chapter.best.number or ingest.chapter.title or ingest.chapter.key}"
