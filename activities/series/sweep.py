"""Sweeping a site's list of news and waking the sources that changed (C16)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeat import heartbeating
from activities.series.source import Wait, as_wait
from fascicle.domain.errors import ErrorRecord, MustWait, PermanentError, RetryableError
from fascicle.domain.names import WAKE_SIGNAL, source_workflow_id
from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.chapter import LatestEntry
from fascicle.domain.series.sweep import SweepCursor, SweepProgress, count_wakes
from fascicle.sites.base import Sites
from fascicle.storage.database import transaction
from fascicle.storage.series import sweep as sweeps
from fascicle.temporal.metrics import Metrics

_MOST_PAGES = 100
_SIGNALS_AT_ONCE = 20


class SweepInput(BaseModel):
    site: str
    now: datetime
    progress: SweepProgress | None = None
    """The place where a sweep that had to wait continues."""


class SweepResult(BaseModel):
    interval_seconds: float = 120
    sources: int = 0
    """How many sources of the site are followed and not paused; with none, nothing was read."""
    wait: Wait | None = None
    progress: SweepProgress | None = None
    woken: int = 0
    gap: bool = False
    """There was more news than the site lists: every source was woken."""


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
        """Read, wake sources, then store the cursor: a crash in between only wakes some sources twice."""
        progress = sweep.progress or SweepProgress()
        result = SweepResult(interval_seconds=self._policy.interval.total_seconds(), progress=progress)
        async with heartbeating():
            async with transaction(self._engine) as connection:
                interest = await sweeps.interest(connection, sweep.site)
                cursor = await sweeps.cursor(connection, sweep.site)
            result.sources = interest.sources
            if not interest.sources:
                return result
            try:
                await self._read_on(sweep.site, cursor, interest.languages, result)
            except MustWait as wait:
                result.wait = as_wait(wait)
                return result
            if not progress.reached:
                result.gap = True
                result.woken += await self._wake_all(sweep.site)
            async with transaction(self._engine) as connection:
                reached = progress.next_cursor(cursor, sweep.now)
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
        """The sweep is lost or ends: each source polls once within its own interval, finds the sweep gone,
        and keeps its own interval. Safe to repeat: a crash in between only wakes some sources twice."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                await sweeps.forget_success(connection, sweep.site)
                active = await sweeps.active_sources(connection, sweep.site)
            intervals = self._policy.intervals
            return await self._wake(
                (source, intervals[cadence].total_seconds()) for source, cadence in active
            )

    async def _read_on(
        self, name: str, cursor: SweepCursor, languages: list[str], result: SweepResult
    ) -> None:
        """Read page by page back to where the last sweep began; each page wakes the sources it concerns."""
        site = self._sites.sweepable(name)
        if site is None:
            raise PermanentError("not_sweepable", f"{name} has no list of what is new for everyone.")
        progress = result.progress
        assert progress is not None
        while progress.pages < _MOST_PAGES:
            page = await site.latest(languages, progress.page)
            if not page.rows and not progress.pages and not cursor.is_first:
                raise RetryableError("bad_answer", f"{name} lists nothing new at all, which it never does.")
            result.woken += await self._wake_concerned(name, cursor, progress, page.entries)
            is_last = page.next_cursor is None
            progress.take(page.entries, cursor, self._policy.overlap, is_last=is_last)
            progress.page = page.next_cursor
            if progress.reached or is_last:
                return

    async def _wake_concerned(
        self, site: str, cursor: SweepCursor, progress: SweepProgress, entries: Sequence[LatestEntry]
    ) -> int:
        async with transaction(self._engine) as connection:
            unstored = await sweeps.unstored(connection, site, entries)
        worth, wakes = count_wakes(cursor, [entry.upload_id for entry in unstored])
        progress.wakes |= wakes
        concerned = {entry.source_id for entry in unstored if entry.upload_id in worth}
        return await self._wake((source_id, 0.0) for source_id in sorted(concerned))

    async def _wake_all(self, site: str) -> int:
        async with transaction(self._engine) as connection:
            active = await sweeps.active_sources(connection, site)
        within = self._policy.intervals[Cadence.HOT].total_seconds()
        return await self._wake((source_id, within) for source_id, _ in active)

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
                return False  # no workflow: `fascicle setup` starts it, and it polls as soon as it runs
            raise RetryableError(
                "temporal_down", f"Temporal did not take a signal: {error.message}"
            ) from error
        return True
