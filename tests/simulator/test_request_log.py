import time

import httpx
import pytest

from simulator.faults import Fault
from simulator.request_log import RequestLog
from simulator.server import RunningSimulator


def test_every_request_outside_the_control_api_is_logged(
    simulator: RunningSimulator, api: httpx.Client, control: httpx.Client
) -> None:
    before = time.time()
    api.get("/manga?limit=1")
    control.get("/health")
    api.get("/nowhere", headers={"User-Agent": "other/1"})
    first, second = simulator.requests.matching()
    assert (first.method, first.path, first.query, first.status) == ("GET", "/mangadex/manga", "limit=1", 200)
    assert (second.path, second.status, second.headers["user-agent"]) == ("/mangadex/nowhere", 404, "other/1")
    assert before <= first.at <= second.at <= time.time()
    assert first.monotonic < second.monotonic
    assert first.number < second.number


def test_faults_are_named(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(kind="status", status=502, count=1))
    simulator.faults.add(Fault(kind="reset", count=1))
    api.get("/manga")
    with pytest.raises(httpx.ReadError):
        api.get("/manga")
    api.get("/manga")
    logged = [(entry.status, entry.fault) for entry in simulator.requests.matching()]
    assert logged == [(502, "status"), (None, "reset"), (200, None)]


def test_log_is_read_by_path_and_time(simulator: RunningSimulator, api: httpx.Client) -> None:
    api.get("/manga")
    between = time.time()
    api.get("/chapter")
    api.get("/manga")
    log = simulator.requests
    assert len(log.matching("/mangadex/manga")) == 2
    assert len(log.matching("*/chapter")) == 1
    assert len(log.matching("/mangadex/manga", since=between)) == 1
    log.clear()
    assert log.matching() == []


def test_log_is_bounded() -> None:
    log = RequestLog(capacity=3)
    for number in range(5):
        log.open({"method": "GET", "path": f"/{number}", "query_string": b"", "headers": []})
    assert [entry.path for entry in log.matching()] == ["/2", "/3", "/4"]
