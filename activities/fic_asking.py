"""Asking for a fic: its workflow is started or joined, whichever it is (F1)."""

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

from activities.fic import Subscription
from activities.looking_after import FicInput, fic_attributes, fic_priority
from fascicle.domain.errors import FascicleError, RetryableError, UsageError
from fascicle.domain.fic import FicRef, FicView
from fascicle.domain.names import MAIN_QUEUE, fic_workflow_id

# Temporal takes ten updates of one workflow at a time; whoever is turned away comes back.
_CROWDED = (RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.ABORTED, RPCStatusCode.UNAVAILABLE)
_PATIENCE_SECONDS = 60.0
_NO_WORKER_SECONDS = 20.0
LONGEST_NOTE = 2000
MOST_TAGS = 50


async def subscribe(client: Client, ref: FicRef, asked: Subscription) -> FicView:
    """Start the fic's workflow or join it, whichever it is."""
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    pause = 0.05
    # One for all attempts: what was heard, though its answer got lost, is not heard as another wish.
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
    start: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
        "ParseFicWorkflow",
        FicInput(ref=ref),
        id=fic_workflow_id(ref.key),
        task_queue=MAIN_QUEUE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        static_summary=ref.url[:200],
        priority=fic_priority(ref),
        search_attributes=fic_attributes(ref),
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
