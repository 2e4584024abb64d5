"""IngestItemWorkflow: stores one feed item again after a failure. The poll itself stores the others."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from activities.feeds.feed import FeedActivities, StoreItemInput, StoreItemResult
    from activities.operations.dead_letter import DeadLetterActivities, ReopenInput
    from fascicle.jobs.feeds import IngestItemInput, enrich_job
    from workflows import policies
    from workflows.children import start_child


@workflow.defn
class IngestItemWorkflow:
    @workflow.run
    async def run(self, ingest: IngestItemInput) -> StoreItemResult:
        try:
            result = await self._store(ingest)
        except ActivityError as error:
            await self._put_back(ingest)
            raise ApplicationError(
                f"letter {ingest.letter_id} could not be stored", non_retryable=True
            ) from error
        if result.error is not None:  # buried again, with the current error
            raise ApplicationError(result.error.message, type=result.error.error_code, non_retryable=True)
        for item in result.items:
            await start_child(enrich_job(item), again=True)
        return result

    async def _store(self, ingest: IngestItemInput) -> StoreItemResult:
        return await workflow.execute_activity_method(
            FeedActivities.store_item,
            StoreItemInput(letter_id=ingest.letter_id, now=workflow.now()),
            start_to_close_timeout=timedelta(seconds=60),
            retry_policy=policies.INGEST,
            priority=Priority(priority_key=1, fairness_key=ingest.source_id),
            summary=f"store the item of letter {ingest.letter_id}",
        )

    async def _put_back(self, ingest: IngestItemInput) -> None:
        await workflow.execute_activity_method(
            DeadLetterActivities.put_back,
            ReopenInput(letter_id=ingest.letter_id, now=workflow.now()),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="back to the dead letters",
        )
