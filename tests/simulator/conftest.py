from collections.abc import Iterator

import httpx
import pytest

from simulator.client import NO_CERTIFICATES
from simulator.deviantart import TokenPair
from simulator.server import RunningSimulator


def client(base_url: str = "") -> httpx.Client:
    headers = {"User-Agent": "tests"}
    return httpx.Client(base_url=base_url, headers=headers, verify=NO_CERTIFICATES, trust_env=False)


@pytest.fixture(scope="session")
def running() -> Iterator[RunningSimulator]:
    with RunningSimulator() as simulator:
        yield simulator


@pytest.fixture
def simulator(running: RunningSimulator) -> RunningSimulator:
    """An empty simulator without faults."""
    running.simulation.reset()
    return running


@pytest.fixture
def api(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    """A client of the simulated MangaDex."""
    with client(simulator.mangadex_url) as http:
        yield http


@pytest.fixture
def control(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    with client(f"{simulator.url}/_sim") as http:
        yield http


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """A client of any address."""
    with client() as http:
        yield http


@pytest.fixture
def site(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    """A client of the simulated DeviantArt."""
    with client(f"{simulator.url}/deviantart") as http:
        yield http


@pytest.fixture
def ann(simulator: RunningSimulator, site: httpx.Client) -> TokenPair:
    """An account of DeviantArt whose token `site` sends."""
    pair = simulator.deviantart.tokens.add_account("ann")
    site.headers["Authorization"] = f"Bearer {pair.access_token}"
    return pair


def outcome(answer: httpx.Response) -> tuple[int, str, int | None]:
    """How DeviantArt refused: status, error, error code."""
    content = answer.json()
    assert content["status"] == "error"
    return answer.status_code, content["error"], content.get("error_code")
