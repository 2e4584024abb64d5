"""Lives of fics: several who ask, a redirect, a refusal to wait out, a failure, a job that is cleared."""

import asyncio

from simulator.faults import Fault
from tests.fics import desk, hold_next, reader, release, until_held, until_over, work
from tests.harness import Harness


async def fics_for_several(stack: Harness) -> dict[str, str]:
    faults = stack.simulator.faults
    await reader(stack, "ann")
    faults.add(Fault(path="/ao3", status=525, count=1))
    faults.add(Fault(path="/ao3", status=429, retry_after=1, count=1))
    read = work(stack, title="Read", chapters=3)
    views = await asyncio.gather(*(desk(stack).add(read, n, wait_seconds=0) for n in ("ann", "ben", "cyd")))
    await until_over(stack, views[0])
    failed = await desk(stack).add(work(stack, title="Failed", broken=True), "ann", wait_seconds=0)
    await until_over(stack, failed)
    hold = hold_next(stack)
    url = work(stack, title="Cleared")
    cleared = await desk(stack).add(url, "ann", wait_seconds=0)

    await until_held(stack)
    await desk(stack).clear(url)
    await release(stack, hold)
    await stack.client.get_workflow_handle(cleared.workflow_id).result()
    return {
        "fic_read": views[0].workflow_id,
        "fic_failed": failed.workflow_id,
        "fic_cleared": cleared.workflow_id,
    }
