"""The dashboard, the alerts and the document beside the real /metrics of a running stack (O1, O7)."""

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from simulator.faults import Fault
from simulator.specs import UploadSpec
from tests.deploy.promql import OBSERVABILITY, Asked, everything_asked
from tests.deploy.test_dashboards import commands
from tests.starter.commandline import answer, child_pid, send_to_all, wait_until
from tests.starter.conftest import Running
from tests.starter.publishing.test_account import connected
from tests.starter.test_temporal_cli import temporal

_SERIES = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# Made by Prometheus itself for each target; by no exporter.
_OF_PROMETHEUS = {"up"}


@dataclass
class Exposed:
    """What /metrics shows: of each metric the labels of its series."""

    series: dict[str, list[dict[str, str]]]

    def has(self, asked: Asked) -> bool:
        names = [name for name in self.series if re.fullmatch(asked.name, name)]
        there = [labels for name in names for labels in self.series[name]]
        return any(asked.labels <= labels.keys() for labels in there) and all(
            any(labels.get(label) == value for labels in there)
            for label, operator, pattern in asked.values
            for value in _values(operator, pattern)
        )


def _values(operator: str, pattern: str) -> list[str]:
    """Those that a matcher names one by one."""
    is_list = operator == "MatchOp.Equal" or (operator == "MatchOp.Re" and re.fullmatch(r"[\w|]+", pattern))
    return pattern.split("|") if is_list else []


def scrape(running: Running) -> Exposed:
    return exposed_at(running.ops_port)


def exposed_at(port: int) -> Exposed:
    got = answer(port, "/metrics")
    assert got is not None
    assert got.status_code == 200
    series: dict[str, list[dict[str, str]]] = {}
    for name, labels in _SERIES.findall(got.text):
        series.setdefault(name, []).append(dict(_LABEL.findall(labels)))
    return Exposed(series)


@pytest.fixture(scope="module")
def eventful(running: Running) -> Iterator[Running]:
    """What shows only after it happened, has: news, an account, a dead letter, failures of both kinds."""
    source = running.add("A series that is taken down")
    connected(running, "watched-artist")
    temporal(running, "temporal workflow start --type NoSuchWorkflow --task-queue fascicle -w no-such")
    _fail_a_request_to_temporal(running)
    running.simulator.world.release(source["site_key"], UploadSpec())
    running.fascicle("source", "poll", source["id"])
    wait_until(lambda: "fascicle_detection_delay_seconds_count" in scrape(running).series, what="the news")
    running.simulator.faults.add(Fault(status=404, path=f"/mangadex/manga/{source['site_key']}*"))
    running.fascicle("source", "poll", source["id"])
    happened = {
        "temporal_workflow_task_execution_failed_total",
        "temporal_request_failure_total",
        "fascicle_dead_letters",
    }
    wait_until(lambda: happened <= scrape(running).series.keys(), what="the failures")
    temporal(running, "temporal workflow terminate -w no-such")
    yield running
    running.fascicle("source", "remove", source["id"])
    (letter,) = [row for row in running.json("dead-letters", "list") if row["job_key"] == source["id"]]
    running.fascicle("dead-letters", "discard", str(letter["id"]))


def _fail_a_request_to_temporal(running: Running) -> None:
    if "temporal_request_failure_total" in scrape(running).series:
        return
    pid = child_pid(running.desk.data, "temporal")
    send_to_all(pid, signal.SIGSTOP)
    try:
        answer(running.ops_port, "/ready")
    finally:
        send_to_all(pid, signal.SIGCONT)


def test_o7_every_metric_and_label_of_dashboard_and_alerts_is_there(eventful: Running) -> None:
    wanted = [asked for asked in everything_asked() if asked.name not in _OF_PROMETHEUS]
    assert len(wanted) > 50
    exposed = scrape(eventful)
    assert [asked for asked in wanted if not exposed.has(asked)] == []


def test_o1_the_document_lists_every_metric_with_its_labels(eventful: Running) -> None:
    rows = re.findall(r"^\| `(fascicle_\w+)` \| ([\w, ]*)\|", OBSERVABILITY.read_text(), re.MULTILINE)
    documented = {name: {label.strip() for label in labels.split(",")} - {""} for name, labels in rows}
    plumbing = {"service_name", "le"}
    shown: dict[str, Any] = {}
    for name, series in scrape(eventful).series.items():
        if name.startswith("fascicle_"):
            family = re.sub(r"(_seconds)_(bucket|sum|count)$", r"\1", name)
            shown[family] = {label for labels in series for label in labels} - plumbing
    assert shown == documented


def test_o1_the_metrics_stay_while_the_database_hangs(eventful: Running) -> None:
    pid = child_pid(eventful.desk.data, "postgres")
    send_to_all(pid, signal.SIGSTOP)
    try:
        exposed = scrape(eventful)
    finally:
        send_to_all(pid, signal.SIGCONT)
    assert {
        "fascicle_polls_total",
        "fascicle_dead_letters",
        "fascicle_state_age_seconds",
    } <= exposed.series.keys()


def test_o5_every_temporal_command_that_people_are_told_works(running: Running) -> None:
    wait_until(lambda: "fascicle_sweep_failures" in scrape(running).series, what="the sweep")
    places = {"{{ $labels.task_queue }}": "fetch", "{{ $labels.site }}": "mangadex"}
    told = set()
    for command in commands("temporal"):
        for place, value in places.items():
            command = command.replace(place, value)
        told.add(command)
    assert len(told) >= 6
    for command in told:
        temporal(running, command)
