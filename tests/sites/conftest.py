"""The real HTTP client against a simulator, both shared by all tests here; gates that are always open."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fascicle.domain.gate import GatePolicy, Slot
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.sandbox import Sandbox
from fascicle.services.dependencies import build_sites
from fascicle.sites.base import Sites
from simulator.server import RunningSimulator
from tests.harness import settings_for
from tests.sites.bench import Bench
from tests.sites.press import Press


class OpenGates:
    """Remembers nothing, so that a refusal in one test does not hold up the next."""

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
        return Slot(True, 0.0)

    async def returned(self, name: str, policy: GatePolicy, turn: int) -> None:
        pass

    async def blocked(self, name: str) -> Slot | None:
        return None

    async def succeeded(self, name: str, policy: GatePolicy) -> None:
        pass

    async def failed(
        self,
        name: str,
        policy: GatePolicy,
        *,
        refused: bool = False,
        not_before: float | None = None,
        reason: str | None = None,
    ) -> float:
        return not_before or 0.0


@pytest.fixture(scope="session")
def shared_simulator() -> Iterator[RunningSimulator]:
    with RunningSimulator() as running:
        yield running


@pytest.fixture
def simulator(shared_simulator: RunningSimulator) -> RunningSimulator:
    """Empty, without faults."""
    shared_simulator.simulation.reset()
    return shared_simulator


@pytest.fixture(scope="session")
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(
        gates=OpenGates(), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=HttpLimits()
    )
    yield client
    await client.aclose()


@pytest.fixture
def sites(simulator: RunningSimulator, http: HttpClient, sandbox: Sandbox) -> Sites:
    """All sites, the worked examples included."""
    return build_sites(settings_for("postgresql:///unused", simulator), http, sandbox)


@pytest.fixture
def bench(http: HttpClient, sandbox: Sandbox, simulator: RunningSimulator, tmp_path: Path) -> Bench:
    return Bench(http, sandbox, simulator, tmp_path)


@pytest.fixture(scope="session")
def shared_press() -> Iterator[Press]:
    with Press() as press:
        yield press


@pytest.fixture
def press(shared_press: Press) -> Press:
    shared_press.replies.clear()
    shared_press.asked.clear()
    return shared_press
