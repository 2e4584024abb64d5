"""The demo's fic readers: two ask for the same fic, and both are told."""

from temporalio.client import Client

from activities.fic_desk import open_desk
from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import channel as channels
from fascicle.storage import library
from fascicle.storage.database import transaction
from simulator.ao3.demo import LONG_WORK, ONE_SHOT, OTHER_PAIRING, SERIES

READERS = ("mara", "jo")
_ARCHIVE = "https://archiveofourown.org"


async def show_fics(dependencies: Dependencies, client: Client, simulator_url: str) -> None:
    """One fic for two, one that the rules refuse, a series. Repeatable: what was read is not read again."""
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
    """A user whose channel is the demo's sink; their id."""
    channel = simulator_url.replace("http://", "json://") + f"/sink/{name}"
    async with transaction(dependencies.engine) as connection:
        user_id, _ = await library.add_user(connection, name)
        # The sink may be on another port this time: the channel moves, it does not multiply.
        await channels.move_channel(connection, dependencies.vault, user_id, channel)
    return user_id
