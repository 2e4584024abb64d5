"""One id, from the command that began it all to the message that a reader gets (O3)."""

import json
from typing import Any

import pytest

from simulator.specs import SeriesSpec, UploadSpec
from tests.starter.commandline import wait_until
from tests.starter.conftest import Running
from tests.starter.test_temporal_cli import temporal

ID = "shelf-import-7"


@pytest.fixture(scope="module")
def told(running: Running) -> dict[str, Any]:
    """A source that was added under that id; a chapter of it has reached its reader."""
    series = running.simulator.world.add_series(SeriesSpec(title="Paper Boats", chapters=2))
    added: dict[str, Any] = running.fascicle(
        "--correlation-id", ID, "source", "add", f"https://mangadex.org/title/{series.id}", "--json",
        OTEL_EXPORTER_OTLP_ENDPOINT=running.collector.url,
    ).json()  # fmt: skip
    wait_until(lambda: running.source(added["id"])["first_synced_at"], what="the first sync")
    running.fascicle("follow", "ann", added["series_id"])
    running.simulator.world.release(series.id, UploadSpec(title="Upstream"))
    running.fascicle("--correlation-id", "look-8", "source", "poll", added["id"])
    wait_until(lambda: _messages(running, "Paper Boats"), what="the message")
    return added


def _messages(running: Running, title: str) -> list[str]:
    return [str(one.payload) for one in running.simulator.sink.messages("ann") if title in str(one.payload)]


def _log(running: Running) -> list[dict[str, Any]]:
    text = (running.desk.data / "logs" / "worker.log").read_text()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def _lines(running: Running) -> list[dict[str, Any]]:
    """At INFO and above: the shared stack's log has DEBUG, too."""
    told = [line for line in _log(running) if line.get("correlation_id") == ID and "stage" in line]
    return [line for line in told if line["level"] != "debug"]


def test_o3_one_id_leads_from_the_command_to_the_message(running: Running, told: dict[str, Any]) -> None:
    assert told["correlation_id"] == ID
    wanted = {"backfill_source", "store_chapter", "deliver_due"}
    stages = wait_until(lambda: (found := {line["stage"] for line in _lines(running)}) >= wanted and found)
    assert "poll_source" not in stages, "looking is no news"
    lines = [line for line in _lines(running) if line["stage"] == "deliver_due"]
    assert {line["correlation_id"] for line in lines} == {ID}
    assert all(line["workflow_id"].startswith("ingest-") and line["attempt"] == 1 for line in lines)
    asked = [line for line in _log(running) if line.get("asked_by") == "look-8"]
    assert [(line["signal"], line["correlation_id"]) for line in asked] == [("poll_now", ID)]

    query = f"temporal workflow list -q \"CorrelationId='{ID}'\" -o json"
    started = wait_until(
        lambda: (
            len(found := {one["type"]["name"] for one in json.loads(temporal(running, query))}) > 1 and found
        )
    )
    assert started == {"SourceWorkflow", "IngestChapterWorkflow"}


def test_o3_the_trace_leads_there_too(running: Running, told: dict[str, Any]) -> None:
    def of_command() -> set[tuple[str, str]]:
        spans = running.collector.spans
        trace = next((span.trace for span in spans if span.name == "fascicle source add"), None)
        return {(span.service, span.name) for span in spans if span.trace == trace}

    wanted = {
        ("fascicle-cli", "StartWorkflow:SourceWorkflow"),
        ("fascicle-worker", "RunWorkflow:IngestChapterWorkflow"),
        ("fascicle-worker", "RunActivity:deliver_due"),
    }
    wait_until(lambda: wanted <= of_command(), what="the trace")


def test_o3_an_id_that_would_break_the_log_is_refused(running: Running) -> None:
    refused = running.fascicle("--correlation-id", "a b", "source", "list")
    assert refused.code == 2
    assert "A correlation id has up to 64 letters" in refused.said()
