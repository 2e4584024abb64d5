"""A site that a person paused: not one request, however long; then everything goes on (C15, X2)."""

import asyncio
from datetime import timedelta

from temporalio.testing import TimeSkipper, TimeSkippingConfig

from fascicle.storage.database import transaction
from fascicle.storage.operations import gate
from tests.harness import Harness, eventually


async def test_c15_a_paused_site_is_not_asked_and_polls_wait_for_it_however_long(harness: Harness) -> None:
    skipper = TimeSkipper(harness.client, config=TimeSkippingConfig(enabled=False))
    harness.client = skipper.client
    engine = harness.dependencies.engine
    async with harness.workers():
        upstream = harness.series(chapters=3)
        source = await harness.add_and_sync(upstream)
        handle = harness.workflow(source)
        async with transaction(engine) as connection:
            await gate.pause(connection, "mangadex", "paused: they asked us to", floor=0)
        asked = len(harness.simulator.requests.matching("/mangadex/"))
        harness.release(upstream)
        first_run = (await handle.describe()).run_id
        await handle.signal("poll_now")

        async def waits() -> bool:
            return "they asked us to" in (await harness.status(source))["waiting_for"]

        await eventually(waits, what="the poll to wait")
        # Enough for the history to call for a new run; waits of months do the same, five minutes at a time.
        await asyncio.gather(*(handle.signal("wake", 1.0) for _ in range(350)))
        await skipper.fast_forward(handle, timedelta(minutes=30))

        async def in_a_new_run() -> bool:
            return (await handle.describe()).run_id != first_run

        await eventually(in_a_new_run, what="a new run")
        await eventually(waits, what="the poll to wait again")
        assert len(harness.simulator.requests.matching("/mangadex/")) == asked
        assert await harness.source_value(source["id"], "failure_count") == 0

        async with transaction(engine) as connection:
            await gate.resume(connection, "mangadex")
        await skipper.fast_forward(handle, timedelta(minutes=6))
        await eventually(lambda: harness.value("select 1 from logical_chapter where chapter_key = '4'"))
