"""Changes of a post's row: the next step, a person's wishes, failed attempts (P2, P5)."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity

from fascicle.domain.errors import ErrorRecord
from fascicle.domain.publishing.post import PostState
from fascicle.domain.publishing.post_plan import Plan, PlanInput
from fascicle.domain.publishing.publication import attempt_delay
from fascicle.domain.times import future_time
from fascicle.services.publishing.next_step import Planner
from fascicle.storage.database import transaction
from fascicle.storage.notifications import mail
from fascicle.storage.publishing import post as posts
from fascicle.storage.publishing import publication as publishing
from fascicle.temporal.metrics import Metrics

# Errors about which the account's owner gets a mail (P5).
_AUTH_CODES = frozenset({"auth_failed", "token_refused"})


class FailureInput(BaseModel):
    post_id: str
    error: ErrorRecord


class FailureResult(BaseModel):
    retry_seconds: float | None = None
    """None: that was the last attempt."""
    attempt: int = 0
    of: int = 0


class ChangeInput(BaseModel):
    post_id: str
    change: Literal["reschedule", "cancel", "publish_now", "retry"]
    time: str | None = None
    now: datetime


class PostActivities:
    def __init__(self, engine: AsyncEngine, planner: Planner, metrics: Metrics) -> None:
        self._engine = engine
        self._planner = planner
        self._metrics = metrics

    @activity.defn
    async def plan_post(self, wanted: PlanInput) -> Plan:
        return await self._planner.plan(wanted)

    @activity.defn
    async def change_post(self, wish: ChangeInput) -> str:
        """Apply a change that a person asked for. Returns the new state; UsageError if it is too late."""
        becomes = PostState.CANCELLED if wish.change == "cancel" else PostState.SCHEDULED
        async with transaction(self._engine) as connection:
            post = await publishing.lock_post(connection, wish.post_id)
            # An earlier attempt may have succeeded although its answer was lost.
            repeated = activity.info().attempt > 1 and post is not None and post["state"] == becomes
            if not repeated:
                await self._change(connection, wish)
        return becomes

    async def _change(self, connection: AsyncConnection, wish: ChangeInput) -> None:
        match wish.change:
            case "cancel":
                await posts.cancel(connection, wish.post_id)
            case "publish_now":
                await posts.publish_now(connection, wish.post_id, wish.now)
            case "retry":
                await posts.retry(connection, wish.post_id, wish.now)
            case "reschedule":
                publish_at = future_time(wish.time or "", zone=None, now=wish.now)
                await posts.reschedule(connection, wish.post_id, publish_at)

    @activity.defn
    async def record_attempt(self, failure: FailureInput) -> FailureResult:
        """Plan another attempt, or end the post: failed, or unconfirmed if it may be published."""
        policy, error = self._planner.policy, failure.error
        async with transaction(self._engine) as connection:
            post = await publishing.lock_post(connection, failure.post_id)
            if post is None or post["state"] not in (PostState.UPLOADING, PostState.PUBLISHING):
                return FailureResult()
            attempts = await publishing.count_attempt(
                connection, failure.post_id, error.error_code, error.message
            )
            ends = not error.retryable or attempts >= policy.attempts
            if ends:
                await self._give_up(connection, failure, post["account_id"], post["title"], attempts)
        if ends:
            return FailureResult(attempt=attempts, of=policy.attempts)
        self._metrics.count_posts("retried")
        delay = attempt_delay(attempts, policy.retry_seconds)
        return FailureResult(retry_seconds=delay, attempt=attempts, of=policy.attempts)

    async def _give_up(
        self, connection: AsyncConnection, failure: FailureInput, account_id: str, title: str, attempts: int
    ) -> None:
        error = failure.error
        files = await publishing.files_of(connection, failure.post_id)
        may_be_out = any(file["intent_at"] is not None or file["unclear"] for file in files)
        state = PostState.UNCONFIRMED if may_be_out else PostState.FAILED
        await publishing.set_state(
            connection, failure.post_id, state, code=error.error_code, message=error.message
        )
        detail = {"code": error.error_code, "why": error.message, "attempts": attempts}
        event = await publishing.note(connection, failure.post_id, state, detail)
        if error.error_code in _AUTH_CODES:
            await mail.write_mail(
                connection,
                account_id=account_id,
                post_id=failure.post_id,
                kind="post_failed",
                dedup_key=f"post_failed:{failure.post_id}:{event}",
                subject=f"“{title}” could not be published",
                body=f"{error.message}\n\nConnect the account again, then: "
                f"fascicle post retry {failure.post_id}",
            )
        self._metrics.count_posts(state)
