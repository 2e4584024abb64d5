import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import ValidationError
from starlette.types import Message

from simulator.client import SimulatorControl
from simulator.faults import Fault
from simulator.holds import DroppedError, Holds
from simulator.server import RunningSimulator


@pytest.fixture
async def remote(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    async with SimulatorControl(simulator.url) as control:
        yield control


@pytest.fixture
async def posting(simulator: RunningSimulator) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=simulator.url, trust_env=False) as http:
        yield http


async def held(remote: SimulatorControl, http: httpx.AsyncClient, fault: Fault) -> "Posting":
    """A post to the sink that is being held."""
    armed = await remote.add_fault(fault)
    task = asyncio.create_task(http.post("/sink/ann", json={"title": "t"}))
    await remote.wait_until_held(armed.id)
    return task


Posting = asyncio.Task[httpx.Response]


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_held_request_goes_on_when_released(
    remote: SimulatorControl, posting: httpx.AsyncClient, simulator: RunningSimulator, where: str
) -> None:
    task = await held(remote, posting, Fault.model_validate({"kind": "hold", "hold": where, "path": "/sink"}))
    assert len(simulator.sink.messages()) == (where == "after")
    assert [(report.hits, report.held) for report in await remote.faults()] == [(1, 1)]
    assert await remote.release_held() == 1
    assert (await task).status_code == 200
    assert len(simulator.sink.messages()) == 1
    assert [report.held for report in await remote.faults()] == [0]


@pytest.mark.parametrize(("where", "effects"), [("before", 0), ("after", 1)])
async def test_a_dropped_request_ends_without_an_answer(
    remote: SimulatorControl,
    posting: httpx.AsyncClient,
    simulator: RunningSimulator,
    where: str,
    effects: int,
) -> None:
    task = await held(remote, posting, Fault.model_validate({"kind": "hold", "hold": where, "path": "/sink"}))
    await remote.release_held(drop=True)
    with pytest.raises(httpx.ReadError):
        await task
    assert len(simulator.sink.messages()) == effects


async def test_a_dropped_request_is_not_let_through_by_the_end_of_its_fault() -> None:
    holds = Holds()
    kept = asyncio.create_task(holds.keep(_nothing_comes, 10, late=False))
    await asyncio.sleep(0)
    holds.release(drop=True)
    holds.release()
    with pytest.raises(DroppedError):
        await kept


async def _nothing_comes() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("late", [False, True])
async def test_a_client_that_leaves_takes_its_request_along_unless_it_is_late(
    remote: SimulatorControl, posting: httpx.AsyncClient, simulator: RunningSimulator, late: bool
) -> None:
    task = await held(remote, posting, Fault(kind="hold", hold="before", path="/sink", late=late))
    task.cancel()
    await asyncio.sleep(0.1)
    assert await remote.release_held() == late
    await asyncio.sleep(0.05)
    assert len(simulator.sink.messages()) == late


async def test_a_hold_ends_by_itself(
    remote: SimulatorControl, posting: httpx.AsyncClient, simulator: RunningSimulator
) -> None:
    fault = Fault(kind="reset", takes_effect=True, hold="after", hold_seconds=0.1, path="/sink")
    with pytest.raises(httpx.ReadError):
        await (await held(remote, posting, fault))
    assert len(simulator.sink.messages()) == 1


def test_a_hold_says_where() -> None:
    with pytest.raises(ValidationError):
        Fault(kind="hold")
