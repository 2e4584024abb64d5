"""The first sync: every chapter of every series passes simulator, HTTP client, gate, worker and Temporal."""

import asyncio
import time
from dataclasses import dataclass

from bench.cpu import CpuMeter, CpuUse
from bench.stack import BenchStack
from fascicle.domain.series.cadence import Cadence
from fascicle.services.operations.missing_workflows import rebuild
from fascicle.storage.database import transaction
from fascicle.storage.series import source as sources
from simulator.specs import SeriesSpec

_LOOK_EVERY = 0.05
_PATIENCE = 300.0


@dataclass(frozen=True)
class FirstSync:
    chapters: int
    seconds: float
    cpu: CpuUse

    @property
    def chapters_per_second(self) -> float:
        return self.chapters / self.seconds


async def register_sources(stack: BenchStack, series: int, chapters: int) -> None:
    """Add sources without starting their workflows: the series' page is read and its rows are stored."""
    site = stack.dependencies.sites.named("mangadex")
    for number in range(series):
        address = await stack.simulator.add_series(SeriesSpec(title=f"Series {number:04}", chapters=chapters))
        info = await site.series(address.id)
        async with transaction(stack.dependencies.engine) as connection:
            await sources.add(
                connection,
                site=site.name,
                info=info,
                series_id=None,
                languages=["en"],
                cadence=Cadence.COLD,  # it rests after its first sync until its cadence is changed
            )


async def measure_first_sync(stack: BenchStack, series: int, chapters: int) -> FirstSync:
    """Measured from the start of the first workflow until the last source has all its chapters."""
    meter = CpuMeter(stack.supervisor.pids)
    started = time.perf_counter()
    starting = asyncio.create_task(rebuild(stack.dependencies, stack.client))
    await _until_synced(stack, series)
    seconds = time.perf_counter() - started
    cpu = meter.read()
    await starting
    await _check(stack, series * chapters)
    return FirstSync(series * chapters, seconds, cpu)


async def _until_synced(stack: BenchStack, series: int) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            synced = await stack.value("select count(*) from source where first_synced_at is not null")
            if synced == series:
                return
            await asyncio.sleep(_LOOK_EVERY)


async def _check(stack: BenchStack, wanted: int) -> None:
    """Raise if rows are missing: a fast sync that lost rows must not count."""
    for table in ("logical_chapter", "chapter_source", "chapter_upload"):
        stored = await stack.value(f"select count(*) from {table}")
        if stored != wanted:
            raise AssertionError(f"{table} has {stored:,} rows instead of {wanted:,}")
