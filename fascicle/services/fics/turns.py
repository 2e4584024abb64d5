"""Notifies the next fic in the queue of a site."""

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.client import Client

from fascicle.domain.fics.fic import FicRef
from fascicle.jobs.fics import parse_fic_job
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job as jobs
from fascicle.temporal.workflow_start import start_job


async def call_next(engine: AsyncEngine, client: Client, site: str) -> None:
    """Signal the workflow of the next job in the queue; without the signal it checks later by itself."""
    async with transaction(engine) as connection:
        following = await jobs.next_in_line(connection, site)
    if following is not None:
        await start_job(client, parse_fic_job(FicRef.model_validate(following)))
