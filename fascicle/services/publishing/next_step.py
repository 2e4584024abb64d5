"""The next step of a post, decided from its row, so that a workflow can continue from any state (P2)."""

import contextlib
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio.client import Client
from temporalio.service import RPCError

from fascicle.domain.publishing.post import PostState
from fascicle.domain.publishing.post_plan import Plan, PlanInput
from fascicle.domain.publishing.publication import Step, next_step
from fascicle.jobs.publishing import post_job
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post_queue
from fascicle.storage.publishing import publication as publishing
from fascicle.temporal.workflow_start import start_job

# A post that ends its turn wakes the next one; this limit is for a lost wake-up.
_TURN_FALLBACK_SECONDS = 300.0

# After this time the post is planned again: a server should not hold a timer of a hundred years.
_LONGEST_TIMER_SECONDS = 30 * 86400.0


@dataclass(frozen=True)
class PublishPolicy:
    attempts: int = 7
    retry_seconds: float = 5.0
    looks: list[float] = field(default_factory=lambda: [30.0, 120.0, 600.0])
    timeout_seconds: float = 600.0
    file_max_bytes: int = 30_000_000


class Planner:
    def __init__(self, engine: AsyncEngine, client: Client, policy: PublishPolicy) -> None:
        self._engine = engine
        self._client = client
        self.policy = policy

    async def plan(self, wanted: PlanInput) -> Plan:
        async with transaction(self._engine) as connection:
            post = await publishing.lock_post(connection, wanted.post_id)
            if post is None:
                return Plan(step=Step.OVER, state="gone")
            plan = await self._next(connection, post, wanted)
            await publishing.waits_for(connection, post["id"], plan.why if plan.step is Step.WAIT else None)
        if plan.step is Step.OVER:
            await self._wake_next(post["account_id"], wanted.now)
        return plan

    async def _next(self, connection: AsyncConnection, post: dict[str, Any], wanted: PlanInput) -> Plan:
        plan = Plan(
            step=Step.OVER,
            state=post["state"],
            title=post["title"],
            account=post["account_name"],
            account_id=post["account_id"],
            attempts=post["attempts"],
            looks=self.policy.looks,
            timeout_seconds=self.policy.timeout_seconds,
        )
        if post["state"] not in (PostState.SCHEDULED, PostState.UPLOADING, PostState.PUBLISHING):
            files = await publishing.files_of(connection, post["id"])
            return plan.model_copy(update={"urls": [file["url"] for file in files if file["url"]]})
        await self._set_due(connection, post)
        if post["state"] == PostState.SCHEDULED:
            wait = await self._wait_before_turn(connection, post, wanted.now)
            if wait is not None:
                return plan.model_copy(update={"step": Step.WAIT, "due_at": post["due_at"], **wait})
        elif post["account_paused_at"]:
            return plan.model_copy(update={"step": Step.WAIT, "why": _paused(post)})
        return await self._step_of_files(connection, post, plan, checked=wanted.checked)

    async def _set_due(self, connection: AsyncConnection, post: dict[str, Any]) -> None:
        """Draw the jitter, once for each `publish_at`."""
        if post["due_at"] is None or post["planned_for"] != post["publish_at"]:
            post["due_at"] = _due_at(post["publish_at"], post["jitter_seconds"])
            await post_queue.plan_for(connection, post["id"], post["due_at"])

    async def _wait_before_turn(
        self, connection: AsyncConnection, post: dict[str, Any], now: datetime
    ) -> dict[str, Any] | None:
        """The reason and length of the wait; None: it is the post's turn."""
        if post["due_at"] > now:
            seconds = min(_LONGEST_TIMER_SECONDS, (post["due_at"] - now).total_seconds())
            return {"why": f"until {post['due_at']:%Y-%m-%d %H:%M:%S} UTC", "wait_seconds": seconds}
        if post["account_paused_at"]:
            return {"why": _paused(post)}
        before = await post_queue.take_turn(connection, post, now)
        if before:
            posts = "1 post" if before == 1 else f"{before} posts"
            return {
                "why": f"for its turn: {posts} of {post['account_name']} before it",
                "wait_seconds": _TURN_FALLBACK_SECONDS,
            }
        return None

    async def _step_of_files(
        self, connection: AsyncConnection, post: dict[str, Any], plan: Plan, *, checked: bool
    ) -> Plan:
        files = await publishing.files_of(connection, post["id"])
        step, current = next_step([publishing.progress_of(file) for file in files], checked=checked)
        if not files:  # the check step reports the missing files
            step = Step.CHECK
        if step is Step.OVER:  # another program removed the files that were still to be published
            await publishing.settle_if_complete(connection, post["id"])
            return plan.model_copy(update={"state": PostState.PUBLISHED})
        found: dict[str, Any] = {"step": step}
        if current is not None:
            place = next(i for i, file in enumerate(files) if file["id"] == current.id)
            found |= {"file_id": current.id, "file_label": f"file {place + 1} of {len(files)}"}
            found |= {"call": files[place]["intents"] + 1, "intent_at": current.intent_at}
        return plan.model_copy(update=found)

    async def _wake_next(self, account_id: str, now: datetime) -> None:
        async with transaction(self._engine) as connection:
            following = await post_queue.next_of_account(connection, account_id, now)
        if following is not None:
            with contextlib.suppress(RPCError):  # without the signal it wakes later by itself
                await start_job(
                    self._client, post_job(following["id"], title=following["title"], account_id=account_id)
                )


def _due_at(publish_at: datetime, jitter_seconds: float) -> datetime:
    try:
        return publish_at + timedelta(seconds=random.uniform(0, jitter_seconds))  # noqa: S311
    except OverflowError:  # a time near the year 9999 means "never"
        return publish_at


def _paused(post: dict[str, Any]) -> str:
    why = post["account_paused_reason"] or "paused"
    return f"for the account {post['account_name']} to be connected again ({why})"
