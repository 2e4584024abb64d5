"""The ops pages of a running stack (O1)."""

import json
import re
import signal
from importlib.metadata import version

import pytest

from fascicle.web import probe
from tests.starter.commandline import answer, child_pid, send_to_all, wait_until
from tests.starter.conftest import Running


def metrics(running: Running) -> str:
    got = answer(running.ops_port, "/metrics")
    assert got is not None
    return got.text


@pytest.mark.parametrize(
    "series",
    [
        r"fascicle_active_jobs(\{[^}]*\})? \d",
        r'fascicle_polls_total\{.*outcome="new".*site="mangadex".*\} [1-9]',
        r'fascicle_polls_total\{.*outcome="bulk".*site="mangadex".*\} [1-9]',
        r'fascicle_chapters_ingested_total\{.*site="mangadex".*\} [1-9]',
        r'fascicle_notifications_total\{.*outcome="sent".*\} [1-9]',
        r'fascicle_jobs_total\{.*kind="poll_source".*status="succeeded".*\} [1-9]',
        r'fascicle_job_duration_seconds_bucket\{.*kind="poll_source".*le="[0-9.]+".*\} \d',
        r'fascicle_job_duration_seconds_count\{.*kind="poll_source".*\} [1-9]',
        r"temporal_workflow_task_schedule_to_start_latency_count\{.*\} [1-9]",
        r"temporal_worker_task_slots_available\{.*\} [1-9]",
    ],
)
def test_o1_metrics_of_the_application_beside_those_of_the_sdk(running: Running, series: str) -> None:
    assert re.search(f"^{series}", metrics(running), re.MULTILINE), series


def test_o1_metrics_have_a_type_and_a_help_each(running: Running) -> None:
    typed = dict(re.findall(r"^# TYPE (fascicle_\w+) (\w+)$", metrics(running), re.MULTILINE))
    assert typed["fascicle_polls_total"] == "counter"
    assert typed["fascicle_active_jobs"] == "gauge"
    assert typed["fascicle_job_duration_seconds"] == "histogram"


def test_o1_health_and_readiness(running: Running) -> None:
    health, ready = answer(running.ops_port, "/health"), answer(running.ops_port, "/ready")
    assert health is not None
    assert ready is not None
    assert (health.status_code, health.json()) == (200, {"status": "alive"})
    assert ready.status_code == 200
    assert ready.json()["workflow_tasks_timed_out"] >= 0
    assert ready.json() | {"active_jobs": 0, "workflow_tasks_timed_out": 0} == {
        "ready": True, "temporal": "up", "database": "up", "worker": "running",
        "disk": "ok", "active_jobs": 0,
        "queues": ["fascicle", "fetch", "deliver", "publish"], "build_id": version("fascicle"),
        "workflow_tasks_timed_out": 0,
    }  # fmt: skip


def test_o1_a_containers_health_check_asks_the_ops_pages(running: Running) -> None:
    assert probe.ask(running.ops_port, "/health") == (True, '{"status":"alive"}')
    is_ready, said = probe.ask(running.ops_port, "/ready")
    assert (is_ready, json.loads(said)["worker"]) == (True, "running")
    assert probe.ask(running.ops_port, "/nonsense")[0] is False
    is_well, why = probe.ask(1, "/health")
    assert (is_well, "no answer from port 1" in why) == (False, True)


@pytest.mark.parametrize(("server", "check"), [("temporal", "temporal"), ("postgres", "database")])
def test_o1_readiness_is_lost_with_a_server_and_comes_back(running: Running, server: str, check: str) -> None:
    port = running.ops_port
    pid = child_pid(running.desk.data, server)
    send_to_all(pid, signal.SIGSTOP)
    try:
        got = answer(port, "/ready")
        alive = answer(port, "/health")
    finally:
        send_to_all(pid, signal.SIGCONT)
    assert got is not None
    assert (got.status_code, got.json()["ready"], got.json()[check]) == (503, False, "down")
    others = {"temporal", "database"} - {check}
    assert [got.json()[other] for other in others] == ["up"]
    assert alive is not None
    assert alive.status_code == 200, "it lives, whatever it waits for"
    wait_until(lambda: (back := answer(port, "/ready")) and back.status_code == 200, what="readiness")
