"""The lives of a token maintenance and of its mail worth keeping."""

from fascicle.domain.names import MAIL_WORKFLOW_ID, MAIN_QUEUE, new_id
from simulator.faults import Fault
from tests.accounts import connect_account, let_rest
from tests.harness import Harness

TOKEN = "/deviantart/oauth2/token"


async def tokens_are_maintained(stack: Harness) -> dict[str, str]:
    """One account told to wait, one renewed, one that fails, one warned of; its mail goes at second try."""
    user_id = await stack.reader("ann")
    for name in ("ann", "bob", "cleo"):
        await connect_account(stack, name, user_id=user_id)
    await let_rest(stack, days_left=3)
    await stack.execute("update account set refresh_token = 'v1.gone.AAAA' where name = 'cleo'")
    stack.simulator.faults.add(Fault(path=TOKEN, status=429, retry_after=1, count=1))
    stack.simulator.faults.add(Fault(path="/sink/ann", status=503, count=1))
    handle = await stack.client.start_workflow(
        "TokenMaintenanceWorkflow", id=f"token-maintenance-{new_id()}", task_queue=MAIN_QUEUE
    )
    await handle.result()
    return {"token_maintenance": handle.id, "mail_with_a_retry": MAIL_WORKFLOW_ID}
