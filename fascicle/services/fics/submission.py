"""Asking for a fic: starts its workflow, or joins the running one (F1)."""

import asyncio
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from temporalio.client import (
    Client,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import FascicleError, RetryableError, UsageError
from fascicle.domain.fics.fic import FicRef, FicView, Subscription
from fascicle.domain.names import MAIN_QUEUE
from fascicle.jobs.fics import parse_fic_job

# Temporal takes ten updates of one workflow at a time; a rejected update is tried again.
_CROWDED = (RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.ABORTED, RPCStatusCode.UNAVAILABLE)
_PATIENCE_SECONDS = 60.0
_NO_WORKER_SECONDS = 20.0
LONGEST_NOTE = 2000
MOST_TAGS = 50


async def subscribe(client: Client, ref: FicRef, asked: Subscription) -> FicView:
    """Start the fic's workflow, or join it if it runs."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    pause = 0.05
    # The same update id for all attempts: if only the answer got lost, a retry is no second request.
    wish = uuid4().hex
    while True:
        try:
            return await _update_with_start(client, ref, asked, wish)
        except RPCError as error:
            if error.status not in _CROWDED or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
        pause = min(2.0, pause * 2)


async def _update_with_start(client: Client, ref: FicRef, asked: Subscription, wish: str) -> FicView:
    job = parse_fic_job(ref)
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        job.workflow,
        job.input,
        id=job.id,
        task_queue=MAIN_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=job.summary,
        priority=job.priority,
        search_attributes=job.search_attributes,
    )
    try:
        view: FicView = await client.execute_update_with_start_workflow(
            "subscribe",
            asked,
            id=wish,
            start_workflow_operation=start,
            result_type=FicView,
            rpc_timeout=timedelta(seconds=_NO_WORKER_SECONDS),
        )
    except WorkflowUpdateRPCTimeoutOrCancelledError as error:
        raise RetryableError(
            "no_worker", "No worker answers. Is one running? See `fascicle doctor`, then ask again."
        ) from error
    except WorkflowUpdateFailedError as error:
        raise FascicleError("not_entered", f"It could not be entered: {error.cause}") from error
    return view


def checked_name(name: str) -> str:
    cleaned = name.strip()
    if not cleaned or len(cleaned) > 100 or not cleaned.isprintable():
        raise UsageError("wrong_usage", "A user's name has 1 to 100 printable characters.")
    return cleaned


def checked_note(note: str | None) -> str | None:
    if note is not None and (len(note) > LONGEST_NOTE or "\0" in note):
        raise UsageError("wrong_usage", f"A note has at most {LONGEST_NOTE} characters.")
    return note or None


def checked_tags(tags: Sequence[str]) -> list[str]:
    cleaned = [tag.strip() for tag in tags if tag.strip()]
    if len(cleaned) > MOST_TAGS or any(len(tag) > 100 or not tag.isprintable() for tag in cleaned):
        raise UsageError("wrong_usage", f"At most {MOST_TAGS} tags of 100 characters each.")
    return list(dict.fromkeys(cleaned))
