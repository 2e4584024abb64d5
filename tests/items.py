"""Items that wait for their enrichment, and pages that the simulator shows them."""

from typing import Any

from fascicle.domain.names import MAIN_QUEUE, enrich_workflow_id
from simulator.faults import ArmedFault, Fault
from tests.harness import Harness

SENTENCE = "The lighthouse keeper climbed the stairs, as he had done every evening for thirty years. "
ARTICLE = f"""<!doctype html><html lang="en-GB"><head><title>Lanterns</title>
<meta property="og:title" content="Lanterns"><meta property="og:image" content="/lantern.jpg">
<meta property="og:site_name" content="The Blog"><meta name="author" content="Ann">
</head><body><article><h1>Lanterns</h1><p>{SENTENCE * 20}</p><p>And then: {SENTENCE * 20}</p>
</article></body></html>"""


async def due_item(stack: Harness, url: str | None, **columns: Any) -> int:
    values = {"url": url, "title": "An item", "enrich": "due", **columns}
    names = ", ".join(values)
    item_id: int = await stack.value(
        f"""insert into item ({names}, enrich_due_at, first_seen_at, updated_at)
            values ({", ".join(f":{name}" for name in values)}, now(), now(), now()) returning id""",
        **values,
    )
    return item_id


def serve(stack: Harness, path: str, body: str, **fault: Any) -> ArmedFault:
    """Whatever the simulator has there, it answers this."""
    headers = {"content-type": "text/html; charset=utf-8", **fault.pop("headers", {})}
    return stack.simulator.faults.add(
        Fault(path=path, **{"status": 200, "body": body, "headers": headers, **fault})
    )


async def enrich(stack: Harness, item_id: int) -> dict[str, Any]:
    """Run the item's workflow to its end; the row then."""
    await stack.client.execute_workflow(
        "EnrichItemWorkflow", {"item_id": item_id}, id=enrich_workflow_id(item_id), task_queue=MAIN_QUEUE
    )
    return await item_row(stack, item_id)


async def item_row(stack: Harness, item_id: int) -> dict[str, Any]:
    (row,) = await stack.rows("select * from item where id = :id", id=item_id)
    return row
