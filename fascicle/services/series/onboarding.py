"""Adding sources, and making sure that every source has its workflow."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.names import CODE, sweep_workflow_id
from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.chapter import SeriesInfo
from fascicle.jobs.series import SourceInput, source_job, sweep_job
from fascicle.services.dependencies import Dependencies
from fascicle.services.series.named_source import series_named
from fascicle.services.waiting import patiently
from fascicle.storage.database import transaction
from fascicle.storage.series import source as sources
from fascicle.storage.series import sweep as sweeps
from fascicle.temporal.workflow_start import start_job, stop_workflow


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
    """Follow the series behind a URL. Adding it again changes nothing and returns the existing source."""
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
    """Follow a series whose facts were fetched already.

    `anew`: the series was removed before; its old workflow may still be stopping, so it is replaced.
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
    """The source's workflow, started if it is not running; `anew` replaces a running one."""
    return await start_source(client, await _row(dependencies, source_id), anew=anew)


async def start_source(
    client: Client, row: dict[str, Any], *, anew: bool = False, look_at: datetime | None = None
) -> WorkflowHandle[Any, Any]:
    """`look_at`: the time of its next poll, instead of the planned one."""
    try:
        return await start_job(client, source_job(_workflow_input(row, look_at)), anew=anew)
    except RPCError as error:
        if error.status == RPCStatusCode.INVALID_ARGUMENT and "search attribute" in error.message.lower():
            raise PermanentError(
                "not_set_up", f"Temporal lacks our search attributes ({error.message}): run `fascicle setup`."
            ) from error
        raise


async def ensure_sweeps(dependencies: Dependencies, client: Client) -> list[str]:
    """Ensure a sweep for every followed site that can be swept; stop all of them if sweeping is off."""
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
    await start_job(client, sweep_job(site))


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
