"""The dashboard and the alerts as files (O7).

tests/starter/operations/test_prometheus.py looks for all they name.
"""

import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import promql_parser as promql
import pytest
import yaml
from typer.main import get_command

from fascicle.storage.operations.gauges import GAUGES
from starter.lazy import LazyCommand
from starter.main import app
from tests.deploy.promql import (
    DASHBOARD,
    OBSERVABILITY,
    ROOT,
    RULES,
    alerts,
    dashboard,
    everything_asked,
    expressions,
    panels,
)

ISSUE = (
    "fascicle_polls_total", "fascicle_detection_delay_seconds_bucket", "fascicle_chapters_ingested_total",
    "temporal_activity_schedule_to_start_latency_bucket", "fascicle_gate_wait_seconds_bucket",
    "fascicle_breakers_open", "fascicle_dead_letters", "fascicle_notifications_total", "fascicle_posts_due",
    "fascicle_posts_late", "fascicle_posts_unsettled", "fascicle_account_token_expiry_timestamp_seconds",
)  # fmt: skip
PROMTOOL = shutil.which("promtool")
RULE_TESTS = ROOT / "deploy" / "prometheus" / "tests" / "fascicle.yml"


def test_o7_every_expression_is_promql() -> None:
    for expression in expressions():
        promql.parse(expression)
    assert len(expressions()) > 80


def test_o7_state_that_every_worker_shows_is_counted_once() -> None:
    state = [found for text in expressions() for found in _taken_by(promql.parse(text), None)]
    assert {name for name, _ in state} >= {"fascicle_sources", "fascicle_dead_letters"}
    assert [name for name, operation in state if operation != "max"] == []


def _taken_by(node: Any, operation: str | None) -> Iterator[tuple[str, str | None]]:
    """Gauges of the database with what is done first to those of several workers."""
    if isinstance(node, promql.VectorSelector):
        if node.name in GAUGES:
            yield node.name, operation
    elif isinstance(node, promql.BinaryExpr):
        yield from _taken_by(node.lhs, operation)
        yield from _taken_by(node.rhs, operation)
    elif isinstance(node, promql.AggregateExpr):
        yield from _taken_by(node.expr, str(node.op))
    elif isinstance(node, promql.Call):
        for argument in node.args:
            yield from _taken_by(argument, operation)
    elif isinstance(node, promql.MatrixSelector):
        yield from _taken_by(node.vector_selector, operation)
    elif isinstance(node, promql.ParenExpr | promql.UnaryExpr | promql.SubqueryExpr):
        yield from _taken_by(node.expr, operation)


def test_o7_the_dashboard_shows_what_was_asked_for() -> None:
    shown = {str(asked) for asked in everything_asked()}
    assert set(ISSUE) <= shown


def test_o7_the_dashboard_is_made_of_its_panels() -> None:
    made = runpy.run_path(str(ROOT / "deploy" / "grafana" / "dashboard.py"))["text"]()
    assert DASHBOARD.read_text() == made, "run `python deploy/grafana/dashboard.py`"


def test_o7_every_panel_says_what_it_shows_and_takes_the_chosen_data_source() -> None:
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
    for panel in panels():
        assert len(panel["description"]) > 10, panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
    for one, other in _neighbours():
        assert not _overlap(one, other)


def test_o7_what_is_shown_as_one_number_is_that_of_now() -> None:
    numbers = [panel for panel in panels() if panel["type"] in ("stat", "bargauge")]
    assert len(numbers) > 10
    for panel in numbers:
        assert all(target["instant"] and not target["range"] for target in panel["targets"]), panel["title"]


def _neighbours() -> list[tuple[dict[str, int], dict[str, int]]]:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    return [(one, other) for at, one in enumerate(places) for other in places[at + 1 :]]


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_o7_an_alert_says_how_bad_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert {"summary", "description", "runbook"} <= rule["annotations"].keys()
    file, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert ROOT / file == OBSERVABILITY
    headings = re.findall(r"^#+ (.+)$", OBSERVABILITY.read_text(), re.MULTILINE)
    assert anchor in [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    used = set(re.findall(r"\$labels\.(\w+)", yaml.safe_dump(rule["annotations"])))
    assert used <= {"instance"} | _labels_left(promql.parse(rule["expr"])), "labels that the alert has"


def _labels_left(node: Any) -> set[str]:
    """By which labels alerts of this expression are told apart, as far as it says."""
    if isinstance(node, promql.AggregateExpr):
        return set(node.modifier.labels) if node.modifier else set()
    if isinstance(node, promql.BinaryExpr):
        return _labels_left(node.lhs) | _labels_left(node.rhs)
    if isinstance(node, promql.VectorSelector):
        return {matcher.name for matcher in node.matchers.matchers}
    inside = [node.expr] if isinstance(node, promql.ParenExpr) else getattr(node, "args", ())
    return {label for part in inside for label in _labels_left(part)}


def commands(program: str) -> list[str]:
    """Those that alerts, panels and the document tell people to run."""
    words = [text for rule in alerts() for text in rule["annotations"].values()]
    words += [panel["description"] for panel in panels()]
    told = re.findall(rf"`({program} [^`]+)`", " ".join([*words, OBSERVABILITY.read_text()]))
    return sorted({" ".join(command.split()) for command in told})


def test_o5_the_commands_that_people_are_told_exist_with_their_options() -> None:
    assert len(commands("fascicle")) > 20
    for command in commands("fascicle"):
        _check_command(command)


def _check_command(command: str) -> None:
    found: Any = get_command(app)
    words = shlex.split(re.sub(r"\{\{.*?\}\}", "X", command))[1:]
    while words and hasattr(found, "commands") and not words[0].startswith("-"):
        found = found.get_command(None, words.pop(0))
        assert found is not None, command
        found = found.load() if isinstance(found, LazyCommand) else found
    assert not hasattr(found, "commands"), f"{command}: which command of it?"
    options = {option for parameter in found.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_o7_prometheus_scrapes_workers_under_the_name_that_the_alerts_know() -> None:
    config = RULES.parents[1] / "prometheus.yml"
    jobs = [job["job_name"] for job in yaml.safe_load(config.read_text())["scrape_configs"]]
    assert "fascicle" in jobs


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here: it comes with Prometheus")
@pytest.mark.parametrize("check", [["check", "rules", RULES], ["test", "rules", RULE_TESTS]])
def test_o7_prometheus_itself_takes_the_rules(check: list[Any]) -> None:
    done = subprocess.run([str(PROMTOOL), *map(str, check)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
