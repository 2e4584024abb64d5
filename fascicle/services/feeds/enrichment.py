"""Starting the enrichment of items."""

from collections.abc import Sequence

from temporalio.client import Client
from temporalio.service import RPCError

from fascicle.jobs.feeds import EnrichItemInput, enrich_job
from fascicle.temporal.workflow_start import start_if_absent


async def start_enriching(client: Client, items: Sequence[EnrichItemInput]) -> list[EnrichItemInput]:
    """Returns the items that Temporal did not accept now: the caller must have them started otherwise."""
    left = []
    for item in items:
        try:
            await start_if_absent(client, enrich_job(item), eager=True)
        except RPCError:
            left.append(item)
    return left
