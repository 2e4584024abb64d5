"""The simulated RoyalRoad, in process: no server. tests/sites/test_fanficfare.py reads its pages."""

import httpx
import pytest

from simulator.app import SimulatorApp
from simulator.faults import Fault
from simulator.simulation import Simulation


@pytest.mark.parametrize(
    ("path", "status", "shows"),
    [
        ("/fiction/71001", 200, "The Cartographer of Small Rooms"),
        ("/fiction/71002/lanterns-low-water", 200, "Lanterns &amp; Low Water"),
        ("/fiction/1", 404, "Not Found"),
        ("/fiction/x", 404, "404"),
    ],
)
async def test_a_fiction_has_a_page(path: str, status: int, shows: str) -> None:
    async with _client(Simulation()) as http:
        answer = await http.get(path)
    assert answer.status_code == status
    assert shows in answer.text


async def test_faults_and_the_log_work_there_too() -> None:
    simulation = Simulation()
    simulation.faults.add(Fault(path="/royalroad", status=503, retry_after=7, count=1))
    async with _client(simulation) as http:
        refused = await http.get("/fiction/71001")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")
    assert [request.status for request in simulation.requests.matching("/royalroad")] == [503]


def _client(simulation: Simulation) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(SimulatorApp(simulation))
    return httpx.AsyncClient(transport=transport, base_url="http://sim.test/royalroad")
