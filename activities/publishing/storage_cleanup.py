"""Removing files from the object store that were deleted long enough ago (P8)."""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.errors import RetryableError, UsageError
from fascicle.process.logs import get_logger
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post_files
from fascicle.storage.publishing.objects import ObjectStore

_FILES_AT_ONCE = 200
# After so many the store itself is probably down; the next run finds the rest.
_FAILURES_IN_A_ROW = 10

Outcome = Literal["removed", "still_needed", "no_longer_due"]

log = get_logger("fascicle.storage_cleanup")


class CleanupInput(BaseModel):
    now: datetime
    after_id: int = 0


class CleanupBatch(BaseModel):
    removed: int = 0
    """Files whose object was removed with them."""
    shared: int = 0
    """Files that were deleted without their object, as another file still needs it."""
    failed: int = 0
    """Files that stay until the next run because the store failed."""
    last_failure: str | None = None
    last_id: int = 0
    more: bool = False


class StorageCleanupActivities:
    def __init__(self, engine: AsyncEngine, objects: ObjectStore, *, kept_for: timedelta) -> None:
        self._engine = engine
        self._objects = objects
        self._kept_for = kept_for

    @activity.defn
    async def remove_deleted_files(self, cleanup: CleanupInput) -> CleanupBatch:
        before = cleanup.now - self._kept_for
        async with transaction(self._engine) as connection:
            due = await post_files.due_for_removal(
                connection, before=before, after_id=cleanup.after_id, limit=_FILES_AT_ONCE
            )
        batch = CleanupBatch(last_id=cleanup.after_id, more=len(due) == _FILES_AT_ONCE)
        failures = 0
        async with heartbeating(lambda: batch.last_id):
            for file_id, object_key in due:
                failed = await self._try_to_remove(batch, file_id, object_key, before)
                failures = failures + 1 if failed else 0
                if failures == _FAILURES_IN_A_ROW:
                    batch.more = False
                    break
        return batch

    async def _try_to_remove(
        self, batch: CleanupBatch, file_id: int, object_key: str, before: datetime
    ) -> bool:
        """Remove one file and count it. Returns True if the store failed."""
        batch.last_id = file_id
        try:
            outcome = await self._remove(file_id, object_key, before)
        except RetryableError as error:
            if not error.code.startswith("store_"):
                raise
            log.warning("file_not_removed", object_key=object_key, error=error.record().model_dump())
            batch.failed += 1
            batch.last_failure = error.message
            return True
        batch.removed += outcome == "removed"
        batch.shared += outcome == "still_needed"
        return False

    async def _remove(self, file_id: int, object_key: str, before: datetime) -> Outcome:
        """Remove the object, then its row, while every row that names the object is locked.

        A crash in between leaves a row without an object, which the next run removes.
        """
        async with transaction(self._engine) as connection:
            is_due = await post_files.lock_object(connection, object_key, before=before)
            if not is_due.pop(file_id, False):
                return "no_longer_due"
            # A recently deleted file may still be restored: it needs the object too.
            needed = not all(is_due.values())
            if not needed:
                await self._remove_object(object_key)
            await post_files.delete_file(connection, file_id)
        return "still_needed" if needed else "removed"

    async def _remove_object(self, object_key: str) -> None:
        try:
            await self._objects.remove(object_key)
        except UsageError:
            # Another program's row with an invalid key: there can be no such object.
            log.warning("impossible_object_key", object_key=object_key)
