import time
from collections.abc import Callable

import httpx
import pytest

from simulator.faults import Fault
from simulator.server import RunningSimulator

Post = Callable[[str, bytes], int]


@pytest.fixture
def post(simulator: RunningSimulator, http: httpx.Client) -> Post:
    return lambda name, content: http.post(f"{simulator.url}/sink/{name}", content=content).status_code


def test_messages_are_kept_by_name_with_their_time(post: Post, control: httpx.Client) -> None:
    body = b'{"version": "1.0", "title": "New", "message": "Chapter 2", "attachments": [], "type": "info"}'
    assert post("ann", body) == 200
    assert post("bob", b"{}") == 200
    (message,) = control.get("/sink/ann").json()
    assert (message["title"], message["message"], message["type"]) == ("New", "Chapter 2", "info")
    assert message["payload"]["version"] == "1.0"
    assert message["at"] == pytest.approx(time.time(), abs=5)
    assert [message["name"] for message in control.get("/sink").json()] == ["ann", "bob"]
    control.delete("/sink")
    assert control.get("/sink").json() == []


@pytest.mark.parametrize("content", [b"", b"title=x", b"[1]"])
def test_what_is_no_notification_is_refused(simulator: RunningSimulator, post: Post, content: bytes) -> None:
    assert post("ann", content) == 400
    assert simulator.sink.messages() == []


def test_delivery_can_fail(simulator: RunningSimulator, post: Post) -> None:
    simulator.faults.add(Fault(path="/sink/ann", status=502, count=1))
    assert [post(name, b"{}") for name in ("bob", "ann", "ann")] == [200, 502, 200]
    assert [message.name for message in simulator.sink.messages()] == ["bob", "ann"]
    assert [entry.status for entry in simulator.requests.matching("/sink")] == [200, 502, 200]
