"""What tests of fics need: works at the simulated archive, the desk, who was told what."""

import asyncio
from typing import Any, Literal

from fascicle.domain.fics.fic import FicView
from fascicle.domain.names import fic_workflow_id
from fascicle.services.fics.fic_queue import FicDesk, open_desk
from simulator.ao3.records import WorkSpec
from simulator.faults import Fault
from tests.harness import Harness, eventually

ARCHIVE = "https://archiveofourown.org"


def work(stack: Harness, **spec: Any) -> str:
    """A work at the simulated archive; its address in the real one's terms."""
    added = stack.simulator.ao3.add_work(WorkSpec(**spec))
    return f"{ARCHIVE}/works/{added.id}"


def desk(stack: Harness) -> FicDesk:
    return open_desk(stack.dependencies, stack.client)


async def reader(stack: Harness, name: str) -> str:
    """A user who is told through a sink of their own."""
    return await stack.reader(name)


def requests(stack: Harness) -> list[str]:
    """The paths that the archive was asked for, in order."""
    return [
        entry.path.removeprefix("/ao3") for entry in stack.simulator.simulation.requests.matching("/ao3/")
    ]


def told(stack: Harness, name: str) -> list[str]:
    """The titles of what somebody was told."""
    return [message.title for message in stack.simulator.simulation.sink.messages(name)]


async def until_over(stack: Harness, view: FicView, *, within: float = 60.0) -> FicView:
    """Its last word, everybody told."""
    async with asyncio.timeout(within):
        await stack.client.get_workflow_handle(fic_workflow_id(view.key)).result()
    return await desk(stack).show(view.url)


async def until(stack: Harness, url: str, *states: str, within: float = 40.0) -> FicView:
    async def reached() -> FicView | None:
        view = await desk(stack).show(url)
        return view if view.state in states else None

    found = await eventually(reached, within=within, what=f"{url} to be {' or '.join(states)}")
    assert found is not None
    return found


def hold_next(stack: Harness, moment: Literal["before", "after"] = "before", path: str = "/ao3/works") -> int:
    """The next request there is kept, before or after it took effect, until `release`."""
    return stack.simulator.faults.add(Fault(kind="hold", hold=moment, path=path, count=1)).id


async def release(stack: Harness, hold: int) -> None:
    """Let it go on, once it is there."""
    await until_held(stack)
    stack.simulator.faults.release(hold)


async def until_held(stack: Harness) -> None:
    async def is_held() -> bool:
        return any(report.held for report in stack.simulator.faults.reports())

    await eventually(is_held, what="the request to be held")
