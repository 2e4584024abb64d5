"""Traces for a collector, with the SDK's interceptor (O3)."""

import time
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from fascicle.domain.names import new_id
from fascicle.process.correlation_id import correlated
from fascicle.temporal.correlation import CorrelationInterceptor
from fascicle.temporal.tracing import Tracing, open_tracing
from tests.collector import Collector
from tests.temporal.test_correlation import QUEUE, Leaf, Tree, whose

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as running:
        monkeypatch.setenv(ENDPOINT, running.url)
        yield running


def _opened() -> Tracing:
    tracing = open_tracing("a-test")
    assert tracing is not None
    return tracing


async def _run_tree(client: Client, tracing: Tracing) -> list[str]:
    config = client.config()
    config["interceptors"] = [CorrelationInterceptor(), tracing.interceptor()]
    traced = Client(**config)
    runner = UnsandboxedWorkflowRunner()
    worker = Worker(
        traced, task_queue=QUEUE, workflows=[Leaf, Tree], activities=[whose], workflow_runner=runner
    )
    async with worker:
        with correlated("import-44"), tracing.span("fascicle source add"):
            return await traced.execute_workflow(Tree.run, [], id=new_id(), task_queue=QUEUE)


async def test_o3_a_trace_goes_from_the_command_through_children_and_ends_with_the_run(
    client: Client, collector: Collector
) -> None:
    tracing = _opened()
    await _run_tree(client, tracing)
    tracing.close(10)

    first = {span.trace for span in collector.spans if span.name == "fascicle source add"}
    assert len(first) == 1
    of_first = {span.name for span in collector.spans if span.trace in first}
    assert {"StartWorkflow:Tree", "RunWorkflow:Tree", "RunActivity:whose", "RunWorkflow:Leaf"} <= of_first
    begun = next(span for span in collector.spans if span.name == "NextRun:Tree")
    assert begun.links == tuple(first)
    assert begun.trace not in first
    assert {"RunWorkflow:Tree", "RunActivity:whose", "CompleteWorkflow:Tree"} <= {
        span.name for span in collector.spans if span.trace == begun.trace
    }
    assert {(span.service, span.correlation_id) for span in collector.spans} == {("a-test", "import-44")}


async def test_o3_a_collector_that_is_gone_holds_nothing_up(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Collector() as gone:
        monkeypatch.setenv(ENDPOINT, gone.url)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    tracing = _opened()
    with capture_logs() as logs:
        assert await _run_tree(client, tracing) == ["import-44"] * 3
        began = time.monotonic()
        tracing.close(0.5)
        assert time.monotonic() - began < 20  # the exporter itself would try for longer
    assert [line["event"] for line in logs if line["log_level"] != "info"] == ["traces_not_exported"]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {ENDPOINT: ""},
        {ENDPOINT: "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
        {ENDPOINT: "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_o3_no_collector_no_traces(environment: dict[str, str]) -> None:
    assert open_tracing("a-test", environment) is None


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({ENDPOINT: "collector:4318"}, "must be a URL such as http://collector:4318"),
        ({ENDPOINT: "ftp://collector"}, "must be a URL such as http://collector:4318"),
        ({ENDPOINT: "http://[::1"}, f"{ENDPOINT}: must be a URL"),
        ({ENDPOINT: "http://collector:many"}, f"{ENDPOINT}: must be a URL"),
        ({ENDPOINT: "http://c", TRACES_ENDPOINT: "ftp://me:open-sesame@c"}, f"{TRACES_ENDPOINT}: must be"),
        ({ENDPOINT: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "only http/protobuf"),
    ],
)
def test_o3_wrong_settings_say_what_is_right_and_stop_nobody(environment: dict[str, str], said: str) -> None:
    with capture_logs() as logs:
        assert open_tracing("a-test", environment) is None
    (line,) = logs
    assert line["event"] == "traces_off"
    assert said in line["error"]
    assert "open-sesame" not in line["error"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "99999"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-1"),
    ],
)
def test_o3_what_opentelemetry_itself_refuses_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setenv(variable, value)
    with capture_logs() as logs:
        assert open_tracing("a-test") is None
    assert [line["event"] for line in logs] == ["traces_off"]


def test_x5_headers_for_the_collector_are_in_no_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer open-sesame")
    _opened().close(0)
    assert "Header format invalid" in caplog.text
    assert "open-sesame" not in caplog.text
