"""How polling comes back after an outage: every source overdue, every workflow forgotten by its worker.

python -m bench.restart [--feeds 2000] [--polls 60] [--cache N] [--seconds 60]

Feeds are polled as fast as the worker can, until each was polled `--polls` times: that is the warm rate. Then
the worker and Temporal are killed, and when both are back the rate is measured again. After that every source
is asked to look at once (`poll_now`), which wakes each workflow, and so replays each history.
"""

import argparse
import asyncio
import os
import signal
import time
from dataclasses import dataclass
from typing import Any

from temporalio.api.enums.v1 import EventType, TimeoutType

from bench.books import in_parallel, start_workflows
from bench.command import at_least_one, open_table, run_bench, say
from bench.feed_cadence import publish_feed, until_read, write_books
from bench.scale_work import rest
from bench.stack import BenchStack, open_stack
from fascicle.domain.names import source_workflow_id
from fascicle.temporal.client import is_serving

_FEEDS = "/feeds/feed-*"
_LOOK_EVERY = 0.5
_PATIENCE = 1800.0
_DOWN_SECONDS = 5.0
_WARM_SECONDS = 20.0


@dataclass(frozen=True)
class Restart:
    feeds: int
    cache: int | None
    warm: float
    """Polls per second before the outage, as fast as the worker could."""
    first_poll: float
    """Seconds from the worker's start to the first poll."""
    back: float
    """Polls per second in the first minute (or `--seconds`) after it."""
    woken: float
    """Polls per second while every workflow was woken at once."""
    timed_out: int
    """Workflow tasks that were started but not finished in time."""
    events: int
    """The number of events in the longest history."""

    @property
    def share(self) -> float:
        return self.back / self.warm


async def measure_restart(feeds: int, polls: int, seconds: float, cache: int | None = None) -> Restart:
    settings: dict[str, Any] = {
        "cadence_hot_seconds": 0.001,
        "feed_min_seconds": 0.001,
        "sweep": False,
        "enrich": False,
    }
    if cache is not None:
        settings["max_cached_workflows"] = cache
    async with open_stack() as stack:
        say(f"making {feeds} feeds and starting a worker")
        await in_parallel(range(1, feeds + 1), lambda number: publish_feed(stack, number))
        async with stack.worker(**settings):
            source_ids = await write_books(stack, feeds, 1)
            await start_workflows(stack, source_ids)
            await until_read(stack, feeds, _PATIENCE)
            say(f"until each was polled {polls} times")
            await _until_polled(stack, feeds * polls)
            warm = await _rate(stack, _WARM_SECONDS)
        say("killing Temporal, waiting")
        await _kill_temporal(stack)
        begin = time.time()
        async with stack.worker(**settings):
            say(f"{seconds:g} s after the restart")
            first = await _first_poll(stack, begin)
            back = await _rate(stack, seconds - (time.time() - begin - first))
            say("waking every workflow at once")
            woken = await _wake_all(stack, source_ids)
            timed_out, events = await _histories(stack, source_ids)
    return Restart(feeds, cache, warm, first, back, woken, timed_out, events)


async def _until_polled(stack: BenchStack, wanted: int) -> None:
    async with asyncio.timeout(_PATIENCE):
        while await _looks(stack) < wanted:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)


async def _looks(stack: BenchStack) -> int:
    return int(await stack.value("select count(*) from ingestion_run"))


async def _rate(stack: BenchStack, seconds: float) -> float:
    before, begin = await _looks(stack), time.time()
    await asyncio.sleep(seconds)
    return (await _looks(stack) - before) / (time.time() - begin)


async def _kill_temporal(stack: BenchStack) -> None:
    """Kill Temporal, and wait until its supervisor has started it again."""
    os.kill(stack.supervisor.pids["temporal"], signal.SIGKILL)
    await asyncio.sleep(_DOWN_SECONDS)
    async with asyncio.timeout(60):
        while not await is_serving(stack.client):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)


async def _first_poll(stack: BenchStack, begin: float) -> float:
    before = await _looks(stack)
    async with asyncio.timeout(_PATIENCE):
        while await _looks(stack) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return time.time() - begin


async def _wake_all(stack: BenchStack, source_ids: list[str]) -> float:
    """Let all sources fall asleep first, so that only the polls asked for are counted."""
    await rest(stack, len(source_ids))
    before, begin = await _looks(stack), time.time()
    handles = [stack.client.get_workflow_handle(source_workflow_id(i)) for i in source_ids]
    await in_parallel(handles, lambda handle: handle.signal("poll_now"))
    await _until_polled(stack, before + len(source_ids))
    return len(source_ids) / (time.time() - begin)


async def _histories(stack: BenchStack, source_ids: list[str]) -> tuple[int, int]:
    """The number of workflow tasks that timed out after their start, and the longest history's length."""

    async def of(source_id: str) -> tuple[int, int]:
        handle = stack.client.get_workflow_handle(source_workflow_id(source_id))
        events = (await handle.fetch_history()).events
        return sum(map(_is_timed_out, events)), len(events)

    counted = await in_parallel(source_ids, of)
    return sum(lost for lost, _ in counted), max(length for _, length in counted)


def _is_timed_out(event: Any) -> bool:
    if event.event_type != EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
        return False
    # The timeout of a task that waited for the killed worker does not count: no worker had started it.
    kind = event.workflow_task_timed_out_event_attributes.timeout_type
    return bool(kind == TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE)


def rows(restart: Restart) -> list[tuple[str, str]]:
    cache = "the default" if restart.cache is None else str(restart.cache)
    return [
        (f"{restart.feeds:,} sources, cache {cache}: polls/s when warm", f"{restart.warm:.0f}"),
        ("  in the first minute after the restart", f"{restart.back:.0f} ({restart.share:.0%})"),
        ("  first poll after", f"{restart.first_poll:.1f} s"),
        ("  polls/s, every workflow woken at once", f"{restart.woken:.0f}"),
        ("  workflow tasks that timed out", str(restart.timed_out)),
        ("  longest history", f"{restart.events} events"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=at_least_one, default=2000)
    parser.add_argument("--polls", type=at_least_one, default=60, help="of each before the outage")
    parser.add_argument("--cache", type=at_least_one, help="workflows that the worker keeps in memory")
    parser.add_argument("--seconds", type=float, default=60, help="to come back in")
    options = parser.parse_args()

    async def bench() -> None:
        found = await measure_restart(options.feeds, options.polls, options.seconds, options.cache)
        console, table = open_table("After an outage", width=110)
        table.add_column("measure")
        table.add_column("value", justify="right")
        for row in rows(found):
            table.add_row(*row)
        console.print(table)

    run_bench(bench)


if __name__ == "__main__":
    main()
