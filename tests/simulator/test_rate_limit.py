import time

import httpx
import pytest

from simulator.rate_limit import RateLimit, SlidingWindow
from simulator.server import RunningSimulator


@pytest.mark.parametrize(
    ("rate", "moments", "waits"),
    [
        (2, [0.0, 0.1, 0.2], [0, 0, 0.8]),
        (2, [0.0, 0.1, 1.0, 1.05, 1.1], [0, 0, 0, 0.05, 0]),
        (0.5, [0.0, 1.0, 2.0], [0, 1.0, 0]),
    ],
)
def test_no_window_holds_more_than_the_rate(rate: float, moments: list[float], waits: list[float]) -> None:
    clock = iter(moments)
    window = SlidingWindow(rate, clock=lambda: next(clock))
    assert [window.wait_before_next() for _ in moments] == pytest.approx(waits)


def test_requests_beyond_the_limit_are_told_when_to_return(
    simulator: RunningSimulator, api: httpx.Client
) -> None:
    simulator.rate_limits.set(RateLimit(requests_per_second=5))
    answers = [api.get("/manga") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    refused = answers[-1]
    assert refused.headers["Retry-After"] == "1"
    assert 0 < int(refused.headers["X-RateLimit-Retry-After"]) - time.time() < 3
    assert refused.json()["errors"][0]["status"] == 429


def test_limit_covers_its_upstream_only_and_can_be_lifted(
    simulator: RunningSimulator, api: httpx.Client
) -> None:
    simulator.rate_limits.set(RateLimit(requests_per_second=1))
    sink = f"{simulator.url}/sink/ann"
    assert [api.post(sink, json={}).status_code for _ in range(3)] == [200] * 3
    assert [api.get("/manga").status_code for _ in range(2)] == [200, 429]
    simulator.rate_limits.set(RateLimit(requests_per_second=None))
    assert api.get("/manga").status_code == 200
