"""Lives of AutomationWorkflow that are worth keeping."""

from datetime import timedelta

from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.services.dependencies import utc_now
from fascicle.storage.database import transaction
from tests.drafts import add_account, add_automation, add_draft
from tests.harness import Harness


async def an_automation_fires(stack: Harness) -> dict[str, str]:
    """One that finds a draft, one without, one that nobody can read; then a run with nothing to do."""
    since = utc_now() - timedelta(minutes=7)
    often = {"kind": "fixed_interval", "every_minutes": 5}
    async with transaction(stack.dependencies.engine) as connection:
        await add_account(connection)
        await add_draft(connection, f"moon-{new_id()}")
        await add_automation(connection, "a", rule=often, active_since=since, jitter_seconds=86400.0)
        await add_automation(connection, "b", rule=often, active_since=since)
        await add_automation(connection, "c", rule={"kind": "sometimes"})
    return {"automation_fires": await _run(stack), "automation_with_nothing_to_do": await _run(stack)}


async def _run(stack: Harness) -> str:
    workflow_id = f"automations-{new_id()}"
    await stack.client.execute_workflow("AutomationWorkflow", id=workflow_id, task_queue=MAIN_QUEUE)
    return workflow_id
