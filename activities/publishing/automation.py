"""Firing the automations whose windows are due, and starting the workflows of the scheduled posts (P7)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import SystemRandom

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from activities.heartbeat import heartbeating
from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.domain.publishing.automation import Window, due_windows, recent_for
from fascicle.jobs.publishing import post_job
from fascicle.process.logs import get_logger
from fascicle.storage.database import transaction
from fascicle.storage.publishing import automation as automations
from fascicle.storage.publishing import firing as firings
from fascicle.storage.publishing.automation import Automation
from fascicle.temporal.workflow_start import start_job

log = get_logger("fascicle.automation")


class FireInput(BaseModel):
    now: datetime


class ScheduledPost(BaseModel):
    post_id: str
    title: str
    account_id: str


class FireResult(BaseModel):
    scheduled: list[ScheduledPost] = []
    without_drafts: int = 0
    failed: int = 0


class LookAfterInput(BaseModel):
    posts: list[ScheduledPost]


@dataclass
class _Tally:
    without_drafts: int = 0
    failed: int = 0


class AutomationActivities:
    def __init__(self, engine: AsyncEngine, client: Client, *, every: timedelta) -> None:
        self._engine = engine
        self._client = client
        self._recent = recent_for(every)
        self._random = SystemRandom()

    @activity.defn
    async def fire_automations(self, fire: FireInput) -> FireResult:
        """Safe to repeat: a window that an earlier attempt fired is skipped, but its post is listed again."""
        tally = _Tally()
        async with heartbeating():
            async with transaction(self._engine) as connection:
                rows = await automations.active(connection)
            for row in rows:
                try:
                    automation = automations.checked(row)
                except PermanentError as error:
                    await self._note(row["id"], firings.invalid_key(row), error, fire.now, tally)
                    continue
                await self._fire_due(automation, fire.now, tally)
            async with transaction(self._engine) as connection:
                scheduled = await firings.scheduled_at(connection, fire.now)
        return FireResult(
            scheduled=[ScheduledPost.model_validate(post) for post in scheduled],
            without_drafts=tally.without_drafts,
            failed=tally.failed,
        )

    @activity.defn
    async def look_after_posts(self, look_after: LookAfterInput) -> None:
        """Start the posts' workflows. Safe to repeat; without it `reconcile` would start them later."""
        async with heartbeating():
            for post in look_after.posts:
                try:
                    await start_job(
                        self._client, post_job(post.post_id, title=post.title, account_id=post.account_id)
                    )
                except RPCError as error:
                    raise RetryableError(
                        "temporal_down", f"Temporal did not start a workflow: {error.message}"
                    ) from error

    async def _fire_due(self, automation: Automation, now: datetime, tally: _Tally) -> None:
        windows = due_windows(
            automation.rule, automation.zone, automation.active_since, now, recent=self._recent
        )
        for window in windows:
            try:
                await self._fire(automation, window, now, tally)
            except PermanentError as error:
                await self._note(automation.id, window.key, error, now, tally)
            except RetryableError:
                raise
            except Exception:  # a bug with one automation must not stop the others
                tally.failed += 1
                log.exception("automation_crashed", automation=automation.name, window=window.key)

    async def _fire(self, automation: Automation, window: Window, now: datetime, tally: _Tally) -> None:
        async with transaction(self._engine) as connection:
            if not await automations.may_fire(connection, automation.id, window.key):
                return
            firing = await firings.fire(connection, automation, window, now, self._random)
        if firing is None:
            return
        tally.without_drafts += firing.post_id is None
        log.info(
            "automation_fired",
            automation=automation.name,
            window=window.key,
            outcome=firing.outcome,
            post_id=firing.post_id,
        )

    async def _note(
        self, automation_id: str, window_key: str, error: PermanentError, now: datetime, tally: _Tally
    ) -> None:
        async with transaction(self._engine) as connection:
            is_new = await firings.record_failure(connection, automation_id, window_key, error, now)
        if is_new:
            tally.failed += 1
            log.error("automation_failed", automation_id=automation_id, error=error.message)
