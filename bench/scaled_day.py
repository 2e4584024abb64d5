"""One compressed day on the real stack: releases chapters as planned, measures the cost of finding them."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from bench.books import Followed
from bench.command import say
from bench.cpu import CpuMeter, CpuUse
from bench.followed_series import FollowedSeries
from bench.histories import RunHistory, growth, histories
from bench.planned import DayClock
from bench.stack import BenchStack
from fascicle.domain.names import source_workflow_id
from fascicle.storage.database import transaction

LIST_OF_NEWS = "looks at the list of news"
LOOKS = "looks at a series' newest"
WHOLE_LISTS = "whole lists of a series"

# Started, task scheduled, task begun.
_BEFORE_ITS_FIRST_TASK = 3
# The time to finish for releases and requests in the last moments of the day.
_GRACE = 5.0
# If a source is unpolled so long after it was due, the machine is too slow.
_LATE = timedelta(seconds=2)


@dataclass(frozen=True)
class Release:
    site_key: str
    upload_id: str
    at: datetime


@dataclass(frozen=True)
class MeasuredDay:
    sources: int
    """The number of sources with a workflow; one may stand for several."""
    requests: Counter[str]
    """Requests by kind, each multiplied by the number of sources that its source stands for."""
    asked: int
    """Requests really made."""
    delays: list[timedelta]
    """The delays of the releases that were found, in true time."""
    lost: list[timedelta]
    """For releases not found by the end of the day: the time from the release until then."""
    events: Counter[str]
    overdue: int
    seconds: float
    cpu: CpuUse


async def live_through(
    stack: BenchStack,
    clock: DayClock,
    series: Sequence[FollowedSeries],
    followed: Sequence[Followed],
    weights: dict[str, float],
) -> tuple[MeasuredDay, list[Release]]:
    """Run the day of `clock`, which is in the future. `weights`: the number that each series stands for."""
    before = await _histories_when_asleep(stack, clock)
    await _sleep_until(clock.begin)
    meter, begun = CpuMeter(stack.supervisor.pids), time.time()
    releases = await _release_on_time(stack, clock, series)
    await _sleep_until(clock.end)
    end, cpu = time.time(), meter.read()
    overdue = await stack.value(
        "select count(*) from source where id = any(:ids) and next_check_at < :now",
        ids=[one.source_id for one in followed],
        now=datetime.now(UTC) - _LATE,
    )
    await asyncio.sleep(_GRACE)
    found = await _found(stack, releases)
    delays, lost = _delays(clock, releases, found)
    requests = [r for r in await stack.simulator.requests("/mangadex", since=begun) if r.at < end]
    of_workflow = {source_workflow_id(one.source_id): weights[one.site_key] for one in followed}
    day = MeasuredDay(
        sources=len(followed),
        requests=_by_kind([(r.path, r.query) for r in requests], weights),
        asked=len(requests),
        delays=delays,
        lost=lost,
        events=growth(before, await histories(stack.client), lambda i: of_workflow.get(i, 1.0)),
        overdue=overdue,
        seconds=end - begun,
        cpu=cpu,
    )
    return day, releases


async def _histories_when_asleep(stack: BenchStack, clock: DayClock) -> dict[str, RunHistory]:
    """The histories after every source has done its first task; before that they grow without any work."""
    while True:
        found = await histories(stack.client)
        awake = sum(run.events <= _BEFORE_ITS_FIRST_TASK for run in found.values())
        if not awake:
            return found
        if datetime.now(UTC) >= clock.begin:
            say(f"{awake} sources have not run yet although the day begins: what follows is distorted")
            return found
        await asyncio.sleep(1)


async def _release_on_time(
    stack: BenchStack, clock: DayClock, series: Sequence[FollowedSeries]
) -> list[Release]:
    schedule = sorted((one.release, one.site_key) for one in series if one.release is not None)
    releases = []
    for days, site_key in schedule:
        await _sleep_until(clock.at(days))
        at = datetime.now(UTC)
        [upload] = await stack.simulator.release(site_key)
        releases.append(Release(site_key, upload.id, at))
    return releases


async def _found(stack: BenchStack, releases: Sequence[Release]) -> dict[str, datetime]:
    """When each upload was stored for the first time, by upload id."""
    async with transaction(stack.dependencies.engine) as connection:
        rows = await connection.execute(
            text("select upload_id, first_seen_at from chapter_upload where upload_id = any(:ids)"),
            {"ids": [release.upload_id for release in releases]},
        )
        return dict(rows.tuples().all())


def _delays(
    clock: DayClock, releases: Sequence[Release], found: dict[str, datetime]
) -> tuple[list[timedelta], list[timedelta]]:
    delays, lost = [], []
    for release in releases:
        seen_at = found.get(release.upload_id)
        if seen_at is None:
            lost.append(clock.true(clock.end - release.at))
        else:
            # A whole list is dated by its beginning, and may contain later releases.
            delays.append(clock.true(max(timedelta(0), seen_at - release.at)))
    return delays, lost


def _by_kind(requests: Sequence[tuple[str, str]], weights: dict[str, float]) -> Counter[str]:
    counted: Counter[str] = Counter()
    exact: dict[str, float] = {}
    for path, query in requests:
        parts = path.split("/")
        if parts[2] == "chapter":
            kind, weight = LIST_OF_NEWS, 1.0
        else:
            kind = LOOKS if "readableAt" in query else WHOLE_LISTS
            weight = weights[parts[3]]
        exact[kind] = exact.get(kind, 0.0) + weight
    counted.update({kind: round(number) for kind, number in exact.items()})
    return counted


async def _sleep_until(moment: datetime) -> None:
    await asyncio.sleep(max(0.0, (moment - datetime.now(UTC)).total_seconds()))
