"""Lives of enrichments: one that waits and retries, one that fails for good."""

import contextlib

from temporalio.client import WorkflowFailureError

from fascicle.domain.names import enrich_workflow_id
from simulator.faults import Fault
from tests.harness import Harness
from tests.items import ARTICLE, due_item, enrich, serve


async def items_are_enriched(stack: Harness) -> dict[str, str]:
    stack.simulator.faults.add(Fault(path="/pages/1", status=429, retry_after=1, count=1))
    stack.simulator.faults.add(Fault(path="/pages/1", status=500, count=1))
    serve(stack, "/pages/", ARTICLE)
    enriched = await due_item(stack, f"{stack.simulator.url}/pages/1")
    await enrich(stack, enriched)
    await stack.execute("alter table item add constraint no_english check (language <> 'en') not valid")
    given_up = await due_item(stack, f"{stack.simulator.url}/pages/2")
    with contextlib.suppress(WorkflowFailureError):
        await enrich(stack, given_up)
    return {
        "enrich_waits_and_retries": enrich_workflow_id(enriched),
        "enrich_given_up": enrich_workflow_id(given_up),
    }
