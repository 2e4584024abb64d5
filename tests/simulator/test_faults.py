import time
from datetime import UTC, datetime
from email.utils import format_datetime

import httpx
import pytest
from pydantic import ValidationError

from simulator.faults import ArmedFault, Fault
from simulator.server import RunningSimulator
from simulator.specs import SeriesSpec


def statuses(api: httpx.Client, times: int, path: str = "/manga") -> list[int]:
    return [api.get(path).status_code for _ in range(times)]


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503, 525])
def test_status_comes_in_the_sites_form(simulator: RunningSimulator, api: httpx.Client, status: int) -> None:
    simulator.faults.add(Fault(status=status))
    answer = api.get("/manga")
    assert answer.status_code == status
    assert answer.json()["errors"][0]["status"] == status


def test_no_content_has_no_body(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(status=204, count=1))
    answer = api.get("/manga")
    assert (answer.status_code, answer.content) == (204, b"")
    assert api.get("/manga").status_code == 200


def test_retry_after_in_seconds_also_gives_the_sites_timestamp(
    simulator: RunningSimulator, api: httpx.Client
) -> None:
    simulator.faults.add(Fault(status=429, retry_after=7))
    headers = api.get("/manga").headers
    assert headers["Retry-After"] == "7"
    assert int(headers["X-RateLimit-Retry-After"]) == pytest.approx(time.time() + 7, abs=2)


def test_retry_after_as_a_date(simulator: RunningSimulator, api: httpx.Client) -> None:
    date = format_datetime(datetime(2026, 12, 24, tzinfo=UTC), usegmt=True)
    simulator.faults.add(Fault(status=503, retry_after=date))
    headers = api.get("/manga").headers
    assert headers["Retry-After"] == date
    assert "X-RateLimit-Retry-After" not in headers


def test_delay_lets_the_answer_through_later(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(kind="delay", delay=0.15, count=1))
    started = time.monotonic()
    assert api.get("/manga").status_code == 200
    assert time.monotonic() - started >= 0.15


def test_delay_runs_into_the_clients_timeout(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(kind="delay", delay=5, count=1))
    with pytest.raises(httpx.ReadTimeout):
        api.get("/manga", timeout=0.1)
    assert api.get("/manga").status_code == 200


def test_headers_are_added_and_replaced(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(
        Fault(kind="headers", headers={"cf-mitigated": "challenge", "Content-Type": "text/plain"})
    )
    answer = api.get("/manga")
    assert (answer.status_code, answer.headers["cf-mitigated"]) == (200, "challenge")
    assert answer.headers.get_list("content-type") == ["text/plain"]


def test_truncated_body_ends_before_its_length(simulator: RunningSimulator, api: httpx.Client) -> None:
    series = simulator.world.add_series(SeriesSpec(title="A", chapters=300))
    simulator.faults.add(Fault(kind="truncated", count=1))
    with (
        api.stream("GET", f"/manga/{series.id}/feed?limit=300") as answer,
        pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"),
    ):
        answer.read()
    assert answer.status_code == 200
    assert 0 < answer.num_bytes_downloaded < int(answer.headers["Content-Length"])
    assert api.get(f"/manga/{series.id}/feed").status_code == 200


def test_reset_breaks_the_connection(simulator: RunningSimulator, api: httpx.Client) -> None:
    assert api.get("/manga").status_code == 200
    simulator.faults.add(Fault(kind="reset", count=2))
    for _ in range(2):
        with pytest.raises(httpx.ReadError, match="reset by peer"):
            api.get("/manga")
    assert api.get("/manga").status_code == 200


@pytest.mark.parametrize(
    ("fault", "content_type", "start"),
    [
        (Fault(kind="html"), "text/html; charset=utf-8", "<!DOCTYPE html>"),
        (Fault(kind="half_json"), "application/json", '{"result":"ok"'),
        (Fault(kind="html", body="<p>mine"), "text/html; charset=utf-8", "<p>mine"),
    ],
)
def test_garbage_is_a_200(
    simulator: RunningSimulator, api: httpx.Client, fault: Fault, content_type: str, start: str
) -> None:
    simulator.faults.add(fault)
    answer = api.get("/manga")
    assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
    assert answer.text.startswith(start)
    with pytest.raises(ValueError, match=r"Expecting value|Unterminated string"):
        answer.json()


def test_skip_then_count(simulator: RunningSimulator, api: httpx.Client) -> None:
    armed = simulator.faults.add(Fault(status=500, skip=2, count=2))
    assert statuses(api, 6) == [200, 200, 500, 500, 200, 200]
    assert (armed.seen, armed.hits) == (6, 2)


def test_probability_repeats_with_its_seed() -> None:
    def hits(seed: int) -> list[bool]:
        armed = ArmedFault(1, Fault(probability=0.3, seed=seed))
        return [armed.strikes("GET", "/x") for _ in range(200)]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 30 <= sum(hits(1)) <= 90


@pytest.mark.parametrize(
    ("fault", "struck"),
    [
        (Fault(path="/mangadex/manga"), [True, True, False, False]),
        (Fault(path="/mangadex/manga/*/feed"), [False, True, False, False]),
        (Fault(path="/mangadex/chapter"), [False, False, True, False]),
        (Fault(method="post"), [False, False, False, True]),
        (Fault(), [True, True, True, True]),
    ],
)
def test_path_and_method_select_requests(fault: Fault, struck: list[bool]) -> None:
    requests = [
        ("GET", "/mangadex/manga/1"),
        ("GET", "/mangadex/manga/1/feed"),
        ("GET", "/mangadex/chapter"),
        ("POST", "/sink/ann"),
    ]
    assert [ArmedFault(1, fault).strikes(*request) for request in requests] == struck


def test_faults_strike_one_at_a_time_in_the_order_they_were_armed(
    simulator: RunningSimulator, api: httpx.Client
) -> None:
    simulator.faults.add(Fault(status=500, count=1))
    simulator.faults.add(Fault(status=502, count=1))
    assert statuses(api, 3) == [500, 502, 200]


def test_control_api_has_no_faults(simulator: RunningSimulator, control: httpx.Client) -> None:
    simulator.faults.add(Fault(status=500))
    assert control.get("/health").status_code == 200


@pytest.mark.parametrize("kind", ["status", "reset"])
@pytest.mark.parametrize("takes_effect", [False, True])
def test_an_answer_can_be_lost_after_its_effect(
    simulator: RunningSimulator, http: httpx.Client, kind: str, takes_effect: bool
) -> None:
    simulator.faults.add(Fault.model_validate({"kind": kind, "path": "/sink", "takes_effect": takes_effect}))
    try:
        assert http.post(f"{simulator.url}/sink/ann", json={"title": "t"}).status_code == 503
    except httpx.ReadError:
        assert kind == "reset"
    assert len(simulator.sink.messages()) == takes_effect


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "explode"},
        {"kind": "delay"},
        {"kind": "headers"},
        {"status": 99},
        {"probability": 0},
        {"count": 0},
        {"paht": "/"},
    ],
)
def test_faults_that_could_not_work_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Fault.model_validate(wrong)
