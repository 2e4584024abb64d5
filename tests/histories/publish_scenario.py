"""Lives of posts: a wait, an unclear answer found out, a failure, a change of mind."""

from simulator.faults import Fault
from tests.harness import Harness
from tests.publishing import PLACEBO, PUBLISH, connect_account, scheduled, until_over, until_state


async def posts_on_their_way(stack: Harness) -> dict[str, str]:
    """One whose answers are broken, one that is steered, one that is refused for good."""
    account = await connect_account(stack)
    faults = stack.simulator.faults
    faults.add(Fault(path=PLACEBO, status=500, count=1))
    faults.add(Fault(path=PUBLISH, kind="reset", takes_effect=True, count=1))
    unclear = await scheduled(stack, account, "Unclear", due_in=1, files=2)
    await until_over(stack, unclear)
    faults.add(Fault(path=PUBLISH, status=429, retry_after=1, count=1))
    steered = await scheduled(stack, account, "Steered", due_in=3600)
    handle = stack.client.get_workflow_handle(f"publish-{steered}")
    await handle.execute_update("reschedule", "2030-01-01T12:00Z")
    await handle.execute_update("publish_now")
    await until_over(stack, steered)
    faults.add(Fault(path=PUBLISH, status=400, body='{"error":"x","error_code":1}', count=1))
    refused = await scheduled(stack, account, "Refused")
    await until_over(stack, refused)
    cancelled = await scheduled(stack, account, "Cancelled", due_in=3600)
    await stack.client.get_workflow_handle(f"publish-{cancelled}").cancel()
    await until_state(stack, cancelled, "cancelled")
    return {
        "publish_unclear": f"publish-{unclear}",
        "publish_steered": f"publish-{steered}",
        "publish_refused": f"publish-{refused}",
        "publish_cancelled": f"publish-{cancelled}",
    }
