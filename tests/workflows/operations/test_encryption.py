"""Payload encryption on the real server (X5): nothing readable in history, decoded by Temporal's own tool,
and a worker without the key that destroys nothing."""

import asyncio
import base64
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
)
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    StartWorkflowInput,
    WorkflowFailureError,
)
from temporalio.common import HeaderCodecBehavior, RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import TimeSkipper
from temporalio.worker import Replayer, Worker

from fascicle.domain.names import new_id
from fascicle.embedded import EmbeddedTemporal, choose_port
from fascicle.services.operations.payload_use import find_use, payloads_in
from fascicle.settings.payload_keys import NO_KEYS, PayloadKeys
from fascicle.temporal.client import connect
from fascicle.temporal.payload_codec import is_sealed, key_of
from fascicle.web.codec import CodecRoutes
from tests.harness import Harness, eventually
from tests.payloads import keys
from worker import WORKFLOWS
from workflows.unread_activity import OfferUnreadAgain

TEMPORAL = Path(sys.executable).with_name("temporal")
TOKEN = "a-token-for-the-codec"
# A word of its own for each way through Temporal.
WORDS = ("input", "result", "signal", "update", "memo", "summary", "details", "timer", "heartbeat", "header")
FAILED = ("message", "cause", "failure-details")


def secret(name: str) -> str:
    return f"velvet-{name}-lantern"


@pytest.fixture(autouse=True)
def _named(temporal: EmbeddedTemporal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal.address)


@pytest.fixture
async def client(_named: None, client: Client) -> Client:
    """With a key; what it starts is ended by the other, which has none."""
    config = (await connect(keys("old"))).config()
    config["interceptors"] = [_Heading()]
    return Client(**config)


class _Heading(Interceptor):
    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002
        return _Headed(next)


class _Headed(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> Any:  # noqa: A002
        word = Payload(metadata={"encoding": b"json/plain"}, data=f'"{secret("header")}"'.encode())
        input.headers = {**input.headers, "fascicle-test": word}
        return await super().start_workflow(input)


class Progress:
    """Fails once, so that its progress is read by a second attempt."""

    def __init__(self, outsider: Client) -> None:
        self._outsider = outsider
        self.seen_meanwhile = ""

    @activity.defn
    async def tell_progress(self, given: str) -> str:
        info = activity.info()
        if info.attempt == 1:
            activity.heartbeat(secret("heartbeat"))
            raise ApplicationError(secret("message"), secret("failure-details")) from ValueError(
                secret("cause")
            )
        assert info.heartbeat_details == [secret("heartbeat")]
        self.seen_meanwhile += await raw_text(self._outsider, str(info.workflow_id))
        return given.replace("input", "result")


class Once:
    def __init__(self) -> None:
        self.times = 0

    @activity.defn
    async def only_once(self, given: str) -> str:
        self.times += 1
        return given


@workflow.defn(sandboxed=False)
class EveryWayWorkflow:
    """Says something on every way that there is."""

    def __init__(self) -> None:
        self._said: list[str] = []

    @workflow.run
    async def run(self, given: str) -> str:
        await workflow.wait_condition(
            lambda: len(self._said) == 2, timeout=timedelta(hours=1), timeout_summary=secret("timer")
        )
        result: str = await workflow.execute_activity_method(
            Progress.tell_progress,
            given,
            start_to_close_timeout=timedelta(seconds=30),
            heartbeat_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=20)),
            summary=secret("summary"),
        )
        if given.endswith("fail"):
            raise ApplicationError(secret("message"), secret("failure-details")) from ValueError(
                secret("cause")
            )
        return result

    @workflow.signal
    def say(self, word: str) -> None:
        self._said.append(word)

    @workflow.update
    def tell(self, word: str) -> str:
        self._said.append(word)
        return word


@workflow.defn(sandboxed=False)
class OnceWorkflow:
    """One attempt, as for all that changes the world outside."""

    @workflow.run
    async def run(self, given: str) -> str:
        result: str = await workflow.execute_activity_method(
            Once.only_once,
            given,
            task_queue=f"{workflow.info().task_queue}-activities",
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_attempts=1),
        )
        return result


async def raw_text(client: Client, workflow_id: str) -> str:
    """What Temporal itself has of a workflow, history and description: bytes with every string in them."""
    asked = GetWorkflowExecutionHistoryRequest(namespace=client.namespace)
    asked.execution.workflow_id = workflow_id
    described = DescribeWorkflowExecutionRequest(namespace=client.namespace, execution=asked.execution)
    history = await client.workflow_service.get_workflow_execution_history(asked)
    shown = await client.workflow_service.describe_workflow_execution(described)
    return (history.SerializeToString() + shown.SerializeToString()).decode("latin-1")


@asynccontextmanager
async def codec_server(ring: PayloadKeys) -> AsyncIterator[str]:
    """The endpoint for `--codec-endpoint`."""
    port = choose_port(0, set())
    app = Starlette(routes=CodecRoutes(ring, SecretStr(TOKEN), []).routes())
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: asyncio.sleep(0, server.started), what="the codec server")
    yield f"http://127.0.0.1:{port}/codec"
    server.should_exit = True
    await serving


async def temporal_cli(temporal: EmbeddedTemporal, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        TEMPORAL,
        *arguments,
        "--address",
        temporal.address,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    return said.decode()


def readable(said: str) -> str:
    """With what is in base64 there."""
    found = re.findall(r'"data": "([^"]+)"', said)
    assert found
    return "".join(base64.b64decode(data).decode("latin-1") for data in found)


def decoding(endpoint: str) -> Sequence[str]:
    return ("--codec-endpoint", endpoint, "--codec-auth", f"Bearer {TOKEN}")


async def every_way(client: Client, queue: str, ending: str) -> str:
    """The id of a workflow that went every way to its end."""
    handle = await client.start_workflow(
        EveryWayWorkflow.run,
        f"{secret('input')} {ending}",
        id=f"every-way-{new_id()}",
        task_queue=queue,
        memo={"note": secret("memo")},
        static_summary=secret("summary"),
        static_details=secret("details"),
    )
    assert await handle.execute_update(EveryWayWorkflow.tell, secret("update")) == secret("update")
    await handle.signal(EveryWayWorkflow.say, secret("signal"))
    if ending == "fail":
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        assert secret("message") in str(failed.value.cause)
    else:
        assert secret("result") in await handle.result()
    return handle.id


async def test_x5_raw_history_holds_no_plaintext_and_the_cli_shows_it_decoded(
    client: Client, session_client: Client, temporal: EmbeddedTemporal
) -> None:
    queue, progress = new_id(), Progress(session_client)
    served: list[Callable[..., Any]] = [progress.tell_progress]
    async with Worker(client, task_queue=queue, workflows=[EveryWayWorkflow], activities=served):
        done, failed = [await every_way(client, queue, ending) for ending in ("well", "fail")]
    assert progress.seen_meanwhile.count("encryption-key-id") > 10
    for said in (progress.seen_meanwhile, *[await raw_text(session_client, each) for each in (done, failed)]):
        assert "velvet" not in said

    async def both_need_the_key() -> bool:  # a listing is a moment behind
        use = await find_use(session_client, f"WorkflowId IN ('{done}', '{failed}')", most=10)
        return {key_id: sorted(ids) for key_id, ids in use.by_key.items()} == {"old": sorted([done, failed])}

    await eventually(both_need_the_key, what="the use of the key")
    async with codec_server(keys("new", "old")) as endpoint:
        show = ("workflow", "show", "-o", "json", "-w")
        assert "velvet" not in readable(await temporal_cli(temporal, *show, failed))
        shown = "".join(
            [
                readable(await temporal_cli(temporal, *show, each, *decoding(endpoint)))
                for each in (done, failed)
            ]
        )
    # A heartbeat is in no history: the second attempt read it.
    missing = [word for word in (*WORDS, *FAILED) if word != "heartbeat" and secret(word) not in shown]
    assert not missing


async def test_x5_the_cli_signals_through_the_codec_and_names_a_missing_key(
    client: Client, session_client: Client, temporal: EmbeddedTemporal
) -> None:
    queue = new_id()
    handle = await client.start_workflow(EveryWayWorkflow.run, "x", id=f"cli-{new_id()}", task_queue=queue)
    say = ("workflow", "signal", "-w", handle.id, "--name", "say", "--input", f'"{secret("signal")}"')
    async with codec_server(keys("old")) as endpoint:
        await temporal_cli(temporal, *say, *decoding(endpoint))
    assert "velvet" not in await raw_text(session_client, handle.id)
    async with codec_server(keys("new")) as endpoint:
        show = ("workflow", "show", "-o", "json", "-w", handle.id)
        said = readable(await temporal_cli(temporal, *show, *decoding(endpoint)))
    assert "encrypted with the key 'old', which is not in FASCICLE_PAYLOAD_KEYS" in said


async def test_x5_it_is_switched_on_and_rotated_while_a_source_of_ours_runs(
    harness: Harness, session_client: Client
) -> None:
    harness.client = await connect(NO_KEYS)
    async with harness.workers():
        first = await harness.add_and_sync(harness.series("Begun in plain"))
        await harness.poll(
            first
        )  # and rests: a task in the hand of a worker that stops is missed for a while
    harness.client = await connect(keys("old"))
    async with harness.workers():
        second = await harness.add_and_sync(harness.series("Velvet Lanterns"))
        await harness.poll(second)
        await harness.workflow(first).signal("pause", "because of velvet")
        await eventually(lambda: _says(harness, first, "velvet"), what="the pause")
    for source in (first, second):
        assert "elvet" not in await raw_text(session_client, f"source-{source['id']}")
    harness.client = await connect(keys("new", "old"))
    async with harness.workers():
        assert await _says(harness, first, "velvet")
        await harness.workflow(first).signal("resume")
        await harness.poll(first)
    history = await harness.workflow(first).fetch_history()
    found = [payload for event in history.events for payload in payloads_in(event)]
    used = {key_of(payload) for payload in found if is_sealed(payload)}
    assert used == {"old", "new"}
    replayer = Replayer(
        workflows=list(WORKFLOWS),
        data_converter=harness.client.data_converter,
        header_codec_behavior=HeaderCodecBehavior.CODEC,
        interceptors=[OfferUnreadAgain()],
    )
    await replayer.replay_workflow(history)


async def _says(harness: Harness, source: dict[str, Any], words: str) -> bool:
    return words in str(await harness.status(source))


@pytest.mark.parametrize("lacking", [NO_KEYS, keys("new")], ids=["no keys", "another key"])
async def test_x5_a_worker_without_the_key_fails_nothing_for_good(
    client: Client, lacking: PayloadKeys
) -> None:
    """Neither the workflow task nor the activity, which has one attempt; with the key both go on."""
    bad, queue, once = await connect(lacking), new_id(), Once()
    served: list[Callable[..., Any]] = [once.only_once]
    handle = await client.start_workflow(
        OnceWorkflow.run,
        "x",
        id=f"once-{new_id()}",
        task_queue=queue,
        # So long is waited for a worker that was stopped with the next one in hand.
        task_timeout=timedelta(seconds=1),
    )
    given: dict[str, Any] = {"workflows": [OnceWorkflow], "interceptors": [OfferUnreadAgain()]}

    async def failures(kind: str) -> list[Any]:
        history = await handle.fetch_history()
        return [
            event
            for event in history.events
            if event.WhichOneof("attributes") == f"{kind}_failed_event_attributes"
        ]

    async with Worker(bad, task_queue=queue, **given):
        (failed, *_) = await eventually(lambda: failures("workflow_task"), what="the workflow task")
    assert "key 'old'" in failed.workflow_task_failed_event_attributes.failure.message
    async with Worker(client, task_queue=queue, **given):
        async with Worker(bad, task_queue=f"{queue}-activities", activities=served):
            (failed, *_) = await eventually(lambda: failures("activity_task"), what="the activity")
            assert "key 'old'" in failed.activity_task_failed_event_attributes.failure.message
        async with Worker(client, task_queue=f"{queue}-activities", activities=served):
            # Only now: a worker that is just being stopped must not be offered it once more.
            await TimeSkipper(client).fast_forward(handle)
            assert await handle.result() == "x"
    assert once.times == 1
