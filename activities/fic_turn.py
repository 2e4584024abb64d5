"""Whose turn it is at a fic site, and that they know it."""

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.client import Client

from activities.looking_after import look_after_fic
from fascicle.domain.fic import FicRef
from fascicle.storage import fic_job as jobs
from fascicle.storage.database import transaction


async def call_next(engine: AsyncEngine, client: Client, site: str) -> None:
    """Whoever is next in the queue waits for this word, though not only for it."""
    async with transaction(engine) as connection:
        following = await jobs.next_in_line(connection, site)
    if following is not None:
        await look_after_fic(client, FicRef.model_validate(following))
