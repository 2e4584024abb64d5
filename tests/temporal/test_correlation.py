"""One id from the first command on (O3): through workflows, their children, handlers and further runs."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    StartWorkflowInput,
    WithStartWorkflowOperation,
    WorkflowHandle,
)
from temporalio.common import (
    HeaderCodecBehavior,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
)
from temporalio.converter import PayloadConverter
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from fascicle.domain.names import new_id
from fascicle.process.correlation_id import correlated, current_correlation_id, is_correlation_id
from fascicle.temporal.correlation import HEADER
from fascicle.temporal.payload_codec import data_converter
from tests.payloads import keys

KEY = SearchAttributeKey.for_keyword("CorrelationId")
QUEUE = "correlation"


@activity.defn
async def whose() -> str:
    return current_correlation_id() or "nobody's"


async def _ask() -> str:
    return await workflow.execute_activity(whose, start_to_close_timeout=timedelta(seconds=30))


@workflow.defn
class Leaf:
    @workflow.run
    async def run(self) -> str:
        return await _ask()


@workflow.defn
class Tree:
    """Asks in its first run, in a child, and in its second run."""

    @workflow.run
    async def run(self, heard: list[str]) -> list[str]:
        heard.append(await _ask())
        if len(heard) > 1:
            return heard
        heard.append(
            await workflow.execute_child_workflow(Leaf.run, id=f"{workflow.info().workflow_id}-leaf")
        )
        return workflow.continue_as_new(heard)


@workflow.defn
class Listener:
    def __init__(self) -> None:
        self._heard: list[str] = []

    @workflow.run
    async def run(self) -> list[str]:
        await workflow.wait_condition(lambda: len(self._heard) == 2)
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._heard

    @workflow.signal
    async def listen(self) -> None:
        self._heard.append(await _ask())

    @workflow.update
    async def answer(self) -> str:
        self._heard.append(await _ask())
        return self._heard[-1]


@pytest.fixture
async def worked(client: Client) -> AsyncIterator[Client]:
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=[Leaf, Tree, Listener],
        activities=[whose],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield client


async def _attribute(handle: WorkflowHandle[object, object]) -> str | None:
    return (await handle.describe()).typed_search_attributes.get(KEY)


async def test_o3_children_and_further_runs_carry_the_id_of_the_first_command(worked: Client) -> None:
    with correlated("import-42"):
        handle = await worked.start_workflow(Tree.run, [], id=new_id(), task_queue=QUEUE)
    assert await handle.result() == ["import-42"] * 3
    assert await _attribute(worked.get_workflow_handle(handle.id)) == "import-42"
    assert await _attribute(worked.get_workflow_handle(f"{handle.id}-leaf")) == "import-42"


async def test_o3_without_a_command_a_workflow_gets_an_id_that_can_be_found(worked: Client) -> None:
    handle = await worked.start_workflow(Tree.run, [], id=new_id(), task_queue=QUEUE)
    heard = set(await handle.result())
    assert heard == {await _attribute(worked.get_workflow_handle(handle.id))}


async def test_o3_what_a_row_chose_wins_over_the_command(worked: Client) -> None:
    chosen = TypedSearchAttributes([SearchAttributePair(KEY, "row-7")])
    with correlated("import-43"):
        told = await worked.execute_workflow(
            Leaf.run, id=new_id(), task_queue=QUEUE, search_attributes=chosen
        )
    assert told == "row-7"


async def test_o3_handlers_work_under_their_workflows_id(worked: Client) -> None:
    begin = WithStartWorkflowOperation(
        Listener.run, id=new_id(), task_queue=QUEUE, id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING
    )
    with correlated("first"):
        told = await worked.execute_update_with_start_workflow(
            Listener.answer, start_workflow_operation=begin
        )
    handle = await begin.workflow_handle()
    with correlated("second"):
        await handle.signal(Listener.listen)
    assert (told, await handle.result()) == ("first", ["first", "first"])


async def test_o3_who_asks_something_of_a_workflow_that_runs_is_in_the_log(worked: Client) -> None:
    with correlated("first"):
        handle = await worked.start_workflow(Listener.run, id=new_id(), task_queue=QUEUE)
    with capture_logs() as logs:
        with correlated("second"):
            await handle.execute_update(Listener.answer)
        with correlated("third"):
            await handle.signal(Listener.listen)
        await handle.result()
    asked = [(line["event"], line["asked_by"]) for line in logs if line.get("workflow_id") == handle.id]
    assert asked == [("update_received", "second"), ("signal_received", "third")]


async def test_o3_a_stranger_who_starts_a_workflow_gives_it_its_run_for_an_id(worked: Client) -> None:
    config = worked.config()
    config["interceptors"] = []
    handle = await Client(**config).start_workflow(Tree.run, [], id=new_id(), task_queue=QUEUE)
    assert await handle.result() == [handle.first_execution_run_id] * 3


async def test_o3_the_id_travels_under_lock_as_well(client: Client) -> None:
    config = client.config()
    config["data_converter"] = data_converter(keys("old"))
    config["header_codec_behavior"] = HeaderCodecBehavior.CODEC
    sealed, runner = Client(**config), UnsandboxedWorkflowRunner()
    async with Worker(
        sealed, task_queue=QUEUE, workflows=[Leaf, Tree], activities=[whose], workflow_runner=runner
    ):
        with correlated("import-45"):
            heard = await sealed.execute_workflow(Tree.run, [], id=new_id(), task_queue=QUEUE)
    assert heard == ["import-45"] * 3


@pytest.mark.parametrize("header", [Payload(data=b"x"), PayloadConverter.default.to_payload(7)])
async def test_o3_a_header_that_is_no_id_stops_nothing(worked: Client, header: Payload) -> None:
    class Strange(OutboundInterceptor):
        async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:  # noqa: A002
            input.headers = {HEADER: header}
            return await super().start_workflow(input)

    class Stranger(Interceptor):
        def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002
            return Strange(next)

    config = worked.config()
    config["interceptors"] = [Stranger()]
    handle = await Client(**config).start_workflow(Leaf.run, id=new_id(), task_queue=QUEUE)
    assert await handle.result() == handle.first_execution_run_id


@pytest.mark.parametrize("text", ["a", "import-42", "2f1c:7", "x" * 64])
def test_o3_ids_that_may_stand_anywhere(text: str) -> None:
    assert is_correlation_id(text)


@pytest.mark.parametrize("text", ["", " ", "a b", "-a", "x" * 65, "a\n", "ä", "'; drop", "{}"])
def test_o3_ids_that_would_break_a_log_or_a_filter(text: str) -> None:
    assert not is_correlation_id(text)
