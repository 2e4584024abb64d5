"""Idle polls: every source looked at again and again while nothing is new."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean
from typing import Any

from sqlalchemy import text
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle

from bench.cpu import CpuMeter, CpuUse
from bench.stack import BenchStack
from fascicle.domain.cadence import Cadence
from fascicle.domain.names import source_workflow_id
from fascicle.storage import source as sources
from fascicle.storage.database import transaction

Handle = WorkflowHandle[Any, Any]

_FEEDS = "/mangadex/manga/*/feed"
# Polls per second at which a small machine still keeps every appointment.
_PACE = 20
_NO_PAUSE = 0.001
_LOOK_EVERY = 0.2
_PATIENCE = 120.0


def rhythms(series: int) -> dict[str, float]:
    """Settings: COLD sources rest, WARM ones are polled at a fixed pace, HOT ones all the time."""
    return {"cadence_hot_seconds": _NO_PAUSE, "cadence_warm_seconds": max(1.0, series / _PACE)}


@dataclass(frozen=True)
class IdlePolls:
    seconds: float
    polls: int
    cpu: CpuUse
    events: list[int]
    """Of each poll in the histories that waited for its timer, from its activity to the next poll's."""
    activities: list[int]
    on_time: float
    """The share of polls that waited for their timer; the others were late and went at once."""

    @property
    def polls_per_second(self) -> float:
        return self.polls / self.seconds

    @property
    def events_per_poll(self) -> float:
        return fmean(self.events)

    @property
    def activities_per_poll(self) -> float:
        return fmean(self.activities)


async def measure_idle_polls(stack: BenchStack, seconds: float) -> tuple[IdlePolls, IdlePolls]:
    """At a pace at which the worker keeps its appointments, then as fast as it can."""
    async with transaction(stack.dependencies.engine) as connection:
        source_ids = await sources.active_ids(connection)
    handles = [stack.client.get_workflow_handle(source_workflow_id(i)) for i in source_ids]
    await pin(stack, Cadence.WARM)
    begin = datetime.now(UTC)
    await asyncio.gather(*(handle.signal("poll_now") for handle in handles))
    await until_polled_since(stack, begin, len(handles))
    # That round came all at once; one more spreads it.
    await asyncio.sleep(rhythms(len(handles))["cadence_warm_seconds"])
    paced = await _measure(stack, handles, seconds)
    await pin(stack, Cadence.HOT)
    await until_polled_since(stack, datetime.now(UTC), len(handles))
    return paced, await _measure(stack, handles, seconds)


async def pin(stack: BenchStack, cadence: Cadence) -> None:
    """Straight into the books, where the next poll finds it: steering is not what is measured."""
    async with transaction(stack.dependencies.engine) as connection:
        await connection.execute(text("update source set pinned_cadence = :cadence"), {"cadence": cadence})


async def until_polled_since(stack: BenchStack, begin: datetime, wanted: int) -> None:
    polled = "select count(*) from source where last_checked_at > :begin"
    async with asyncio.timeout(_PATIENCE):
        while True:
            if await stack.value(polled, begin=begin) == wanted:
                return
            await asyncio.sleep(_LOOK_EVERY)


async def _measure(stack: BenchStack, handles: Sequence[Handle], seconds: float) -> IdlePolls:
    meter = CpuMeter(stack.supervisor.pids)
    begin = time.time()
    await asyncio.sleep(seconds)
    end = time.time()
    cpu = meter.read()
    feeds = await stack.simulator.requests(_FEEDS, since=begin)
    histories = await asyncio.gather(*(handle.fetch_history() for handle in handles))
    rounds = [part for history in histories for part in _rounds(history.events, begin, end)]
    if not rounds:
        raise AssertionError("no source was polled twice while it was watched: give it more seconds")
    on_time = [part for part in rounds if _count(part, EventType.EVENT_TYPE_TIMER_FIRED)]
    # A late poll saves the events of its timer; the price of the others is what counts.
    counted = on_time or rounds
    return IdlePolls(
        seconds=end - begin,
        polls=sum(request.at < end for request in feeds),
        cpu=cpu,
        events=[len(part) for part in counted],
        activities=[_count(part, EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) for part in counted],
        on_time=len(on_time) / len(rounds),
    )


def _rounds(events: Sequence[Any], begin: float, end: float) -> list[Sequence[Any]]:
    """The parts of a history that are one poll each: looking, waiting, and all events between."""
    looks = [position for position, event in enumerate(events) if _is_look(event)]
    parts = [events[first:following] for first, following in pairwise(looks)]
    return [p for p in parts if begin <= _at(p[0]) and _at(p[-1]) < end]


def _is_look(event: Any) -> bool:
    scheduled = event.activity_task_scheduled_event_attributes
    return bool(scheduled.activity_type.name == "poll_source")


def _at(event: Any) -> float:
    return float(event.event_time.ToNanoseconds() / 1e9)


def _count(events: Sequence[Any], kind: "EventType.ValueType") -> int:
    return sum(event.event_type == kind for event in events)
