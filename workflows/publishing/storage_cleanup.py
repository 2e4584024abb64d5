"""StorageCleanupWorkflow: started by a Schedule once a day; removes files deleted a while ago (P8)."""

from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.publishing.storage_cleanup import CleanupBatch, CleanupInput, StorageCleanupActivities
    from workflows import policies


class CleanupResult(BaseModel):
    removed: int = 0
    shared: int = 0
    failed: int = 0
    last_failure: str | None = None


class CleanupState(BaseModel):
    """The state that crosses continue-as-new."""

    started_at: datetime
    after_id: int = 0
    result: CleanupResult = CleanupResult()


@workflow.defn
class StorageCleanupWorkflow:
    @workflow.run
    async def run(self, state: CleanupState | None = None) -> CleanupResult:
        state = state or CleanupState(started_at=workflow.now())
        while True:
            batch = await self._remove_deleted_files(state)
            _fold_in(state, batch)
            if not batch.more:
                return state.result
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(state)

    async def _remove_deleted_files(self, state: CleanupState) -> CleanupBatch:
        return await workflow.execute_activity_method(
            StorageCleanupActivities.remove_deleted_files,
            CleanupInput(now=state.started_at, after_id=state.after_id),
            start_to_close_timeout=timedelta(hours=2),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.BOOKS,
            summary=f"files after {state.after_id}" if state.after_id else "files deleted a while ago",
        )


def _fold_in(state: CleanupState, batch: CleanupBatch) -> None:
    state.after_id = batch.last_id
    state.result.removed += batch.removed
    state.result.shared += batch.shared
    state.result.failed += batch.failed
    state.result.last_failure = batch.last_failure or state.result.last_failure
