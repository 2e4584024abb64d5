"""Sweeping a site's list of news and waking the sources that changed (C16)."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeat import heartbeating
from activities.metrics import Metrics
from activities.source import Wait, as_wait
from fascicle.domain.cadence import Cadence
from fascicle.domain.errors import ErrorRecord, MustWait, PermanentError, RetryableError
from fascicle.domain.names import WAKE_SIGNAL, source_workflow_id
from fascicle.domain.sweep import SweepCursor, SweepReading, count_wakes
from fascicle.sites.base import Sites
from fascicle.storage import sweep as sweeps
from fascicle.storage.database import transaction

_MOST_PAGES = 100
_SIGNALS_AT_ONCE = 20


class SweepInput(BaseModel):
    site: str
    now: datetime


class SweepResult(BaseModel):
    interval_seconds: float = 120
    sources: int = 0
    """How many sources of the site are followed and not paused; with none, nothing was read."""
    wait: Wait | None = None
    entries: int = 0
    pages: int = 0
    woken: int = 0
    gap: bool = False
    """More was new than the site shows: every source was woken."""


class SweepFailure(BaseModel):
    site: str
    failures: int
    """How many in a row by now."""
    error: ErrorRecord


@dataclass(frozen=True)
class SweepPolicy:
    interval: timedelta
    overlap: timedelta
    intervals: Mapping[Cadence, timedelta]


class SweepActivities:
    def __init__(
        self, engine: AsyncEngine, sites: Sites, client: Client, policy: SweepPolicy, metrics: Metrics
    ) -> None:
        self._engine = engine
        self._sites = sites
        self._client = client
        self._policy = policy
        self._metrics = metrics

    @activity.defn
    async def sweep_site(self, sweep: SweepInput) -> SweepResult:
        """Read, wake, then note how far: a crash in between wakes again, which costs a look and no more."""
        result = SweepResult(interval_seconds=self._policy.interval.total_seconds())
        async with heartbeating():
            async with transaction(self._engine) as connection:
                interest = await sweeps.interest(connection, sweep.site)
                cursor = await sweeps.cursor(connection, sweep.site)
            result.sources = interest.sources
            if not interest.sources:
                return result
            try:
                reading = await self._read(sweep.site, cursor, interest.languages)
            except MustWait as wait:
                result.wait = as_wait(wait)
                return result
            result.entries, result.pages, result.gap = len(reading.entries), reading.pages, reading.has_gap
            wakes = await self._wake_concerned(sweep, cursor, reading, result)
            async with transaction(self._engine) as connection:
                reached = reading.next_cursor(sweep.now, wakes)
                await sweeps.record_success(connection, sweep.site, reached, sweep.now)
        self._metrics.count_sweep(sweep.site, "gap" if result.gap else "done")
        return result

    @activity.defn
    async def record_sweep_failure(self, failure: SweepFailure) -> None:
        async with transaction(self._engine) as connection:
            await sweeps.record_failure(connection, failure.site, failure.failures, failure.error.message)
        self._metrics.count_sweep(failure.site, "failed")

    @activity.defn
    async def release_sources(self, sweep: SweepInput) -> int:
        """The sweep is lost or ends: each source looks once within its own interval, finds the sweep gone,
        and keeps its own time. Repeatable: a crash in between wakes some of them twice."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                await sweeps.forget_success(connection, sweep.site)
                active = await sweeps.active_sources(connection, sweep.site)
            intervals = self._policy.intervals
            return await self._wake(
                (source, intervals[cadence].total_seconds()) for source, cadence in active
            )

    async def _read(self, name: str, cursor: SweepCursor, languages: list[str]) -> SweepReading:
        site = self._sites.sweepable(name)
        if site is None:
            raise PermanentError("not_sweepable", f"{name} has no list of what is new for everyone.")
        reading = SweepReading(cursor, self._policy.overlap)
        at: str | None = None
        while reading.pages < _MOST_PAGES:
            page = await site.latest(languages, at)
            if not page.entries and not reading.pages and not cursor.is_first:
                raise RetryableError("bad_answer", f"{name} lists nothing new at all, which it never does.")
            reading.add(page.entries)
            at = page.next_cursor
            if reading.is_over or at is None:
                break
        return reading

    async def _wake_concerned(
        self, sweep: SweepInput, cursor: SweepCursor, reading: SweepReading, result: SweepResult
    ) -> dict[str, int]:
        """Wake whoever has something new; how often each upload has woken its source by now."""
        async with transaction(self._engine) as connection:
            unstored = await sweeps.unstored(connection, sweep.site, reading.entries.values())
        worth, wakes = count_wakes(cursor, [entry.upload_id for entry in unstored])
        concerned = {entry.source_id for entry in unstored if entry.upload_id in worth}
        result.woken = await self._wake((source_id, 0.0) for source_id in concerned)
        if reading.has_gap:
            result.woken += await self._wake_all(sweep.site, except_for=concerned)
        return wakes

    async def _wake_all(self, site: str, except_for: set[str]) -> int:
        async with transaction(self._engine) as connection:
            active = await sweeps.active_sources(connection, site)
        within = self._policy.intervals[Cadence.HOT].total_seconds()
        return await self._wake((source_id, within) for source_id, _ in active if source_id not in except_for)

    async def _wake(self, sources: Iterable[tuple[str, float]]) -> int:
        limit = asyncio.Semaphore(_SIGNALS_AT_ONCE)

        async def wake(source_id: str, within: float) -> bool:
            async with limit:
                return await self._signal(source_id, within)

        return sum(await asyncio.gather(*(wake(*source) for source in sources)))

    async def _signal(self, source_id: str, within: float) -> bool:
        handle = self._client.get_workflow_handle(source_workflow_id(source_id))
        try:
            await handle.signal(WAKE_SIGNAL, within)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return False  # no workflow: `fascicle setup` starts it, and it looks as soon as it runs
            raise RetryableError(
                "temporal_down", f"Temporal did not take a signal: {error.message}"
            ) from error
        return True
