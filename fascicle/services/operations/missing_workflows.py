"""Starting every workflow that should run and does not: after a crash, or when Temporal forgot them (X1).

The database lists the workflows that should exist, Temporal those that run. Workflows are started by id, so
one that another process starts meanwhile is not started twice.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.fics.fic import FicRef
from fascicle.domain.names import (
    enrich_workflow_id,
    fic_workflow_id,
    new_id,
    notify_workflow_id,
    publish_workflow_id,
    request_workflow_id,
    source_workflow_id,
)
from fascicle.domain.series.breaker import Circuit
from fascicle.jobs.feeds import enrich_input, enrich_job
from fascicle.jobs.fics import parse_fic_job
from fascicle.jobs.job import Job
from fascicle.jobs.notifications import NotifyInput, mail_job, notify_job
from fascicle.jobs.publishing import post_job
from fascicle.jobs.summaries import request_input, request_job
from fascicle.process.correlation_id import correlated
from fascicle.process.logs import get_logger
from fascicle.services.dependencies import Dependencies
from fascicle.services.series.onboarding import ensure_sweeps, start_source
from fascicle.storage.database import transaction
from fascicle.storage.operations import unfinished
from fascicle.temporal.workflow_start import start_if_absent, start_job

log = get_logger("fascicle.rebuilding")

Row = dict[str, Any]
_AT_ONCE = 20
# Sources whose workflows are gone poll soon, one after the other: news in progress when Temporal was lost are
# in no table, and the next poll of a swept source may be weeks away.
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
    """Returns how many workflows were missing, by kind. `started` is called for each started one.

    `refused` gets a line for each one that Temporal refuses; the others are started nevertheless.
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
            with correlated(new_id()):  # each workflow gets its own correlation id
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
        "chapters": lambda row: start_job(client, _notify_again(row)),
        "posts": lambda row: start_job(
            client, post_job(row["id"], title=row["title"], account_id=row["account_id"])
        ),
        "fics": lambda row: start_job(client, parse_fic_job(FicRef.model_validate(row))),
        "requests": lambda row: start_job(client, request_job(request_input(row))),
        "items": lambda row: start_if_absent(client, enrich_job(enrich_input(row))),
    }[kind]


def _notify_again(row: Row) -> Job:
    return notify_job(
        NotifyInput(series_id=row["series_id"], chapter_id=row["id"], label=f"chapter {row['id']}")
    )


class _Soon:
    """Poll times of sources; the more sources there are, the longer the times are spread."""

    def __init__(self) -> None:
        self._count = 0
        self._now = datetime.now(UTC)

    def next(self, row: Row) -> datetime | None:
        """The time of the next poll. None: as in the database, for unsynced sources and open circuits."""
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
        await start_job(client, mail_job())
