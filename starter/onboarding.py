"""Adding sources, and making sure that every source has its workflow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.common import (
    Priority,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
)
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.breaker import Circuit
from fascicle.domain.cadence import Cadence
from fascicle.domain.chapter import SeriesInfo
from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import CODE, source_workflow_id, sweep_workflow_id
from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import source as sources
from fascicle.storage import sweep as sweeps
from fascicle.storage.database import transaction
from starter.patience import patiently
from starter.source_named import series_named
from starter.starting import start_or_join, stop_workflow
from workflows.source_state import SourceInput
from workflows.sweep import SweepWorkflowInput


@dataclass(frozen=True)
class Onboarded:
    source: dict[str, Any]
    created: bool


async def add_source(
    dependencies: Dependencies,
    client: Client,
    url: str,
    *,
    series: str | None = None,
    languages: list[str] | None = None,
    cadence: Cadence | None = None,
    announce_history: bool = False,
    on_wait: Callable[[str], None] = lambda reason: None,
) -> Onboarded:
    """Follow the series behind a URL. Adding it again changes nothing and returns what is there."""
    site, key = dependencies.sites.recognise(url)
    series_id = (await series_named(dependencies, series))[0] if series else None
    async with transaction(dependencies.engine) as connection:
        known = await sources.find(connection, site.name, key)
    if known is not None and known.removed_at is None:
        await ensure_workflow(dependencies, client, known.id)
        return Onboarded(await _row(dependencies, known.id), created=False)
    info = await patiently(lambda: site.series(key), on_wait)
    return await add_known_series(
        dependencies,
        client,
        site.name,
        info,
        series_id=series_id,
        languages=languages,
        cadence=cadence,
        announce_history=announce_history,
        anew=known is not None,
    )


async def add_known_series(
    dependencies: Dependencies,
    client: Client,
    site: str,
    info: SeriesInfo,
    *,
    series_id: str | None = None,
    languages: list[str] | None = None,
    cadence: Cadence | None = None,
    announce_history: bool = False,
    anew: bool = False,
) -> Onboarded:
    """Follow a series whose site was asked already.

    `anew`: it was removed once and may have a workflow that is told to stop but has not yet; it is replaced.
    """
    async with transaction(dependencies.engine) as connection:
        source_id, created = await sources.add(
            connection,
            site=site,
            info=info,
            series_id=series_id,
            languages=languages or dependencies.settings.languages,
            cadence=cadence,
            announce_history=announce_history,
        )
    await ensure_sweep(dependencies, client, site)
    await ensure_workflow(dependencies, client, source_id, anew=anew)
    return Onboarded(await _row(dependencies, source_id), created)


async def ensure_workflow(
    dependencies: Dependencies, client: Client, source_id: str, *, anew: bool = False
) -> WorkflowHandle[Any, Any]:
    """The source's workflow, started if it is not running; `anew`: in place of one that is running."""
    return await start_source(client, await _row(dependencies, source_id), anew=anew)


async def start_source(
    client: Client, row: dict[str, Any], *, anew: bool = False, look_at: datetime | None = None
) -> WorkflowHandle[Any, Any]:
    """`look_at`: then it looks for what is new, whatever else its time would be."""
    pairs = {
        "Site": row["site"],
        "SourceId": row["id"],
        "SeriesId": row["series_id"],
        "Cadence": row["cadence"],
        "Circuit": row["circuit"],
    }
    try:
        return await start_or_join(
            client,
            "SourceWorkflow",
            _workflow_input(row, look_at),
            workflow_id=source_workflow_id(row["id"]),
            summary=for_web_ui(f"{row['title']} on {row['site']}"),
            priority=Priority(fairness_key=row["site"]),
            anew=anew,
            search_attributes=TypedSearchAttributes(
                [
                    SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
                    for name, value in pairs.items()
                    if value
                ]
            ),
        )
    except RPCError as error:
        if error.status == RPCStatusCode.INVALID_ARGUMENT and "search attribute" in error.message.lower():
            raise PermanentError(
                "not_set_up", f"Temporal lacks our search attributes ({error.message}): run `fascicle setup`."
            ) from error
        raise


async def ensure_sweeps(dependencies: Dependencies, client: Client) -> list[str]:
    """A sweep for every followed site that can be swept, unless the settings say no: then none at all."""
    async with transaction(dependencies.engine) as connection:
        followed = await sweeps.sites_followed(connection)
    for site in followed:
        await ensure_sweep(dependencies, client, site)
    return followed


async def ensure_sweep(dependencies: Dependencies, client: Client, site: str) -> None:
    if dependencies.sites.sweepable(site) is None:
        return
    if not dependencies.settings.sweep:
        await stop_workflow(client, sweep_workflow_id(site))
        return
    await start_or_join(
        client,
        "SweepWorkflow",
        SweepWorkflowInput(site=site),
        workflow_id=sweep_workflow_id(site),
        summary=f"what is new on {site}",
        priority=Priority(priority_key=1, fairness_key=site),
        search_attributes=TypedSearchAttributes(
            [SearchAttributePair(SearchAttributeKey.for_keyword("Site"), site)]
        ),
    )


async def _row(dependencies: Dependencies, source_id: str) -> dict[str, Any]:
    async with transaction(dependencies.engine) as connection:
        rows = await sources.listing(connection, source_id)
    if not rows:
        raise UsageError("unknown_source", f"There is no source {source_id}.")
    return rows[0]


def _workflow_input(row: dict[str, Any], look_at: datetime | None) -> SourceInput:
    return SourceInput(
        source_id=row["id"],
        site=row["site"],
        series_id=row["series_id"] or "",
        title=row["title"],
        cadence=Cadence(row["cadence"]),
        circuit=Circuit(row["circuit"]),
        failure_count=row["failure_count"],
        synced=row["first_synced_at"] is not None,
        paused=row["paused_at"] is not None,
        pause_reason=row["paused_reason"] or "",
        due_at=look_at or row["next_check_at"],
        woken=look_at is not None,
        attributes_given=True,
        code=CODE,
    )
