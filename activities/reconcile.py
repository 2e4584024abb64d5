"""Finding what nobody looks after any more: a workflow that failed, was ended, or was never started (X1)."""

from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.client import Client

from activities.looking_after import look_after_post
from fascicle.storage import mail, publishing
from fascicle.storage import notification as notifications
from fascicle.storage import sweep as sweeps
from fascicle.storage.database import transaction

_CHAPTERS_AT_ONCE = 100
_POSTS_AT_ONCE = 200
# A post on its way for longer is seen to: usually it only waits for its turn, then this changes nothing.
_POST_IS_LATE = timedelta(minutes=1)


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
    posts: int = 0
    """Posts that were seen to."""
    mail_waits: bool = False


class ReconcileActivities:
    def __init__(
        self, engine: AsyncEngine, client: Client, *, told_within: timedelta, sweep_is_fresh_for: timedelta
    ) -> None:
        self._engine = engine
        self._client = client
        self._told_within = told_within
        self._sweep_is_fresh_for = sweep_is_fresh_for

    @activity.defn
    async def find_orphans(self, reconcile: ReconcileInput) -> Orphans:
        async with transaction(self._engine) as connection:
            chapters = await notifications.unfinished(
                connection, before=reconcile.now - self._told_within, limit=_CHAPTERS_AT_ONCE
            )
            stale = await sweeps.stale(connection, reconcile.now - self._sweep_is_fresh_for)
            seconds = await mail.seconds_until_next(connection)
        return Orphans(
            chapters=[OwedChapter(series_id=s, chapter_id=c) for s, c in chapters],
            stale_sweeps=stale,
            posts=await self._look_after_posts(reconcile.now),
            mail_waits=seconds is not None and seconds <= 0,
        )

    async def _look_after_posts(self, now: datetime) -> int:
        """Posts that another program scheduled or moved, and those that nobody brings out (P9)."""
        async with transaction(self._engine) as connection:
            unplanned = await publishing.unplanned(connection, limit=_POSTS_AT_ONCE)
            overdue = await publishing.overdue(
                connection, before=now - _POST_IS_LATE, now=now, limit=_POSTS_AT_ONCE
            )
        posts = {post["id"]: post for post in [*unplanned, *overdue]}
        for post in posts.values():
            await look_after_post(
                self._client, post["id"], title=post["title"], account_id=post["account_id"]
            )
        return len(posts)
