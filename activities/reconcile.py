"""Finding what nobody looks after any more: a workflow that failed, was ended, or was never started (X1)."""

from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from fascicle.storage import notification as notifications
from fascicle.storage import sweep as sweeps
from fascicle.storage.database import transaction

_CHAPTERS_AT_ONCE = 100


class ReconcileInput(BaseModel):
    now: datetime


class OwedChapter(BaseModel):
    series_id: str
    chapter_id: int


class Orphans(BaseModel):
    chapters: list[OwedChapter] = []
    """Owed to followers, or with messages pending, for longer than telling takes."""
    stale_sweeps: list[str] = []
    """Sites whose sources rely on a sweep that has not worked for too long."""


class ReconcileActivities:
    def __init__(self, engine: AsyncEngine, *, told_within: timedelta, sweep_is_fresh_for: timedelta) -> None:
        self._engine = engine
        self._told_within = told_within
        self._sweep_is_fresh_for = sweep_is_fresh_for

    @activity.defn
    async def find_orphans(self, reconcile: ReconcileInput) -> Orphans:
        async with transaction(self._engine) as connection:
            chapters = await notifications.unfinished(
                connection, before=reconcile.now - self._told_within, limit=_CHAPTERS_AT_ONCE
            )
            stale = await sweeps.stale(connection, reconcile.now - self._sweep_is_fresh_for)
        return Orphans(
            chapters=[OwedChapter(series_id=s, chapter_id=c) for s, c in chapters], stale_sweeps=stale
        )
