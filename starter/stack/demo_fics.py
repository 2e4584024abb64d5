"""The demo's fic readers: two ask for the same fic, and both are notified."""

from temporalio.client import Client

from fascicle.services.dependencies import Dependencies
from fascicle.services.fics.fic_queue import open_desk
from fascicle.storage.database import transaction
from fascicle.storage.notifications import channel as channels
from fascicle.storage.series import library
from simulator.ao3.demo import LONG_WORK, ONE_SHOT, OTHER_PAIRING, SERIES

READERS = ("mara", "jo")
_ARCHIVE = "https://archiveofourown.org"


async def show_fics(dependencies: Dependencies, client: Client, simulator_url: str) -> None:
    """Ask for a fic for two readers, one that the rules refuse, and a series. Safe to repeat."""
    for name in READERS:
        await add_reader(dependencies, name, simulator_url)
    desk = open_desk(dependencies, client)
    mara, jo = READERS
    await desk.add(
        f"{_ARCHIVE}/works/{LONG_WORK}/chapters/1", mara, note="slow, in the best way", wait_seconds=0
    )
    await desk.add(f"http://ao3.org/works/{LONG_WORK}?view_adult=true", jo, wait_seconds=0)
    await desk.add(f"{_ARCHIVE}/series/{SERIES}", mara, wait_seconds=0)
    await desk.add(f"{_ARCHIVE}/works/{OTHER_PAIRING}", jo, wait_seconds=0)
    await desk.add(f"{_ARCHIVE}/works/{ONE_SHOT}", jo, tags=["pie"], wait_seconds=0)


async def add_reader(dependencies: Dependencies, name: str, simulator_url: str) -> str:
    """Add a user whose channel is the demo's sink; returns their id."""
    channel = simulator_url.replace("http://", "json://") + f"/sink/{name}"
    async with transaction(dependencies.engine) as connection:
        user_id, _ = await library.add_user(connection, name)
        # The sink's port may have changed: move the channel to it instead of adding another.
        await channels.move_channel(connection, dependencies.vault, user_id, channel)
    return user_id
