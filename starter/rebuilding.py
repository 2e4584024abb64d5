"""Starting every workflow that should run and does not: after a crash, or when Temporal forgot them (X1).

The database says what there is to do; Temporal is asked what of it runs. Starting goes by workflow ids, so
what is started meanwhile by others is not started twice.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.looking_after import (
    enrich_input,
    look_after_fic,
    look_after_item,
    look_after_post,
    look_after_request,
    request_input,
)
from fascicle.domain.breaker import Circuit
from fascicle.domain.fic import FicRef
from fascicle.domain.names import (
    MAIL_WORKFLOW_ID,
    enrich_workflow_id,
    fic_workflow_id,
    new_id,
    notify_workflow_id,
    publish_workflow_id,
    request_workflow_id,
    source_workflow_id,
)
from fascicle.runtime.correlation_id import correlated
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.logs import get_logger
from fascicle.storage import unfinished
from fascicle.storage.database import transaction
from starter.onboarding import ensure_sweeps, start_source
from starter.starting import notify_again, start_or_join
from workflows.mail import MailInput

log = get_logger("fascicle.rebuilding")

Row = dict[str, Any]
_AT_ONCE = 20
# Sources whose workflows are gone look soon, one after the other: what was on its way when Temporal was lost
# is in no table, and a swept source's own next look may be weeks away.
_SECONDS_BETWEEN_LOOKS = 0.5
_LOOKS_SPREAD_SECONDS = 900.0

_WORKFLOWS: dict[str, tuple[str, Callable[[Row], str]]] = {
    "sources": ("SourceWorkflow", lambda row: source_workflow_id(row["id"])),
    "chapters": ("NotifyWorkflow", lambda row: notify_workflow_id(row["series_id"], row["id"])),
    "posts": ("PublishPostWorkflow", lambda row: publish_workflow_id(row["id"])),
    "fics": ("ParseFicWorkflow", lambda row: fic_workflow_id(row["key"])),
    "requests": ("SummarizeWorkflow", lambda row: request_workflow_id(row["id"])),
    "items": ("EnrichItemWorkflow", lambda row: enrich_workflow_id(row["id"])),
}


async def rebuild(
    dependencies: Dependencies,
    client: Client,
    *,
    dry_run: bool = False,
    started: Callable[[], None] = lambda: None,
    refused: list[str] | None = None,
) -> dict[str, int]:
    """How many workflows were missing, by kind. `started` is called for each that was started.

    `refused`: gets a line for each that Temporal does not take; the others are started all the same.
    """
    missing: dict[str, int] = {}
    refused = [] if refused is None else refused
    for kind in unfinished.KINDS:
        missing[kind] = 0
        if kind == "items" and not dependencies.settings.enrich:
            continue
        start = _starter(kind, client)
        async for rows in _pages_without_workflows(dependencies, client, kind):
            missing[kind] += len(rows)
            if not dry_run:
                await _all(rows, start, started, refused)
    if not dry_run:
        await ensure_sweeps(dependencies, client)
        await _ensure_mail(dependencies, client)
    return missing


async def _pages_without_workflows(
    dependencies: Dependencies, client: Client, kind: str
) -> AsyncIterator[list[Row]]:
    workflow, name = _WORKFLOWS[kind]
    query = f"WorkflowType = '{workflow}' AND ExecutionStatus = 'Running'"
    running = {execution.id async for execution in client.list_workflows(query, page_size=1000)}
    after: str | int | None = None
    while True:
        async with transaction(dependencies.engine) as connection:
            rows = await unfinished.page(connection, kind, after)
        if not rows:
            return
        after = rows[-1]["key"]
        if missing := [row for row in rows if name(row) not in running]:
            yield missing


async def _all(
    rows: Sequence[Row],
    start: Callable[[Row], Awaitable[object]],
    started: Callable[[], None],
    refused: list[str],
) -> None:
    async def start_one(row: Row) -> None:
        try:
            with correlated(new_id()):  # each leads a life of its own from here on
                await start(row)
        except RPCError as error:
            if error.status != RPCStatusCode.INVALID_ARGUMENT:
                raise
            refused.append(f"{row['key']}: {error.message}")
            log.warning("workflow_not_started", key=row["key"], error=error.message)
        else:
            started()

    for first in range(0, len(rows), _AT_ONCE):
        await asyncio.gather(*map(start_one, rows[first : first + _AT_ONCE]))


def _starter(kind: str, client: Client) -> Callable[[Row], Awaitable[object]]:
    soon = _Soon()
    return {
        "sources": lambda row: start_source(client, row, look_at=soon.next(row)),
        "chapters": lambda row: notify_again(client, row["series_id"], row["id"]),
        "posts": lambda row: look_after_post(
            client, row["id"], title=row["title"], account_id=row["account_id"]
        ),
        "fics": lambda row: look_after_fic(client, FicRef.model_validate(row)),
        "requests": lambda row: look_after_request(client, request_input(row)),
        "items": lambda row: look_after_item(client, enrich_input(row)),
    }[kind]


class _Soon:
    """Times at which sources look, spread over as long as there are many."""

    def __init__(self) -> None:
        self._count = 0
        self._now = datetime.now(UTC)

    def next(self, row: Row) -> datetime | None:
        """None: as the database says. Not for those that were never read, or are probed once in a while."""
        if row["first_synced_at"] is None or Circuit(row["circuit"]) is not Circuit.CLOSED:
            return None
        self._count += 1
        spread = min(self._count * _SECONDS_BETWEEN_LOOKS, _LOOKS_SPREAD_SECONDS)
        at = self._now + timedelta(seconds=random.uniform(0, spread))  # noqa: S311
        return min(at, row["next_check_at"] or at)


async def _ensure_mail(dependencies: Dependencies, client: Client) -> None:
    async with transaction(dependencies.engine) as connection:
        waits = await unfinished.mail_waits(connection)
    if waits:
        await start_or_join(
            client, "MailWorkflow", MailInput(), workflow_id=MAIL_WORKFLOW_ID, summary="mail that is owed"
        )
