"""One id from the first command to the last message (O3).

It travels in a header of Temporal's: from a client to a workflow, on to its activities, children, signals
and further runs. Within a process an activity's client finds it in the context
(`fascicle.process.correlation_id`).
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Interceptor as ClientInterceptor,
)
from temporalio.client import (
    OutboundInterceptor,
    SignalWorkflowInput,
    StartWorkflowInput,
    StartWorkflowUpdateInput,
    StartWorkflowUpdateWithStartInput,
    UpdateWithStartStartWorkflowInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, SearchAttributes, TypedSearchAttributes
from temporalio.converter import PayloadConverter
from temporalio.worker import (
    ActivityInboundInterceptor,
    ContinueAsNewInput,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    SignalChildWorkflowInput,
    SignalExternalWorkflowInput,
    StartActivityInput,
    StartChildWorkflowInput,
    StartLocalActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.worker import Interceptor as WorkerInterceptor

from fascicle.domain.names import new_id
from fascicle.process.correlation_id import (
    correlate_for_good,
    correlated,
    current_correlation_id,
    is_correlation_id,
)
from fascicle.process.logs import get_logger

HEADER = "fascicle-correlation-id"
_ATTRIBUTE = SearchAttributeKey.for_keyword("CorrelationId")

log = get_logger("fascicle.signal")

Headers = Mapping[str, Payload]
Attributes = SearchAttributes | TypedSearchAttributes | None


class CorrelationInterceptor(ClientInterceptor, WorkerInterceptor):
    """Passed to a client; workers of that client use it too."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:  # noqa: A002
        return _ClientOutbound(next)

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _ActivityInbound(next)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        return _WorkflowInbound


class _ClientOutbound(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:  # noqa: A002
        _stamp(input)
        return await super().start_workflow(input)

    async def signal_workflow(self, input: SignalWorkflowInput) -> None:  # noqa: A002
        input.headers = _with_id(input.headers, current_correlation_id())
        await super().signal_workflow(input)

    async def start_workflow_update(self, input: StartWorkflowUpdateInput) -> WorkflowUpdateHandle[Any]:  # noqa: A002
        input.headers = _with_id(input.headers, current_correlation_id())
        return await super().start_workflow_update(input)

    async def start_update_with_start_workflow(
        self,
        input: StartWorkflowUpdateWithStartInput,  # noqa: A002
    ) -> WorkflowUpdateHandle[Any]:
        started = _stamp(input.start_workflow_input)
        update = input.update_workflow_input
        update.headers = _with_id(update.headers, current_correlation_id() or started)
        return await super().start_update_with_start_workflow(input)


class _WorkflowInbound(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_WorkflowOutbound(outbound))

    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:  # noqa: A002
        _bind_for_good()
        return await super().execute_workflow(input)

    async def handle_signal(self, input: HandleSignalInput) -> None:  # noqa: A002
        _bind_for_good()
        _log_who_asked("signal_received", input.headers, signal=input.signal)
        await super().handle_signal(input)

    async def handle_update_handler(self, input: HandleUpdateInput) -> Any:  # noqa: A002
        _bind_for_good()
        _log_who_asked("update_received", input.headers, update=input.update)
        return await super().handle_update_handler(input)


class _WorkflowOutbound(WorkflowOutboundInterceptor):
    def start_activity(self, input: StartActivityInput) -> workflow.ActivityHandle[Any]:  # noqa: A002
        input.headers = _with_id(input.headers, _id_of_workflow())
        return super().start_activity(input)

    def start_local_activity(self, input: StartLocalActivityInput) -> workflow.ActivityHandle[Any]:  # noqa: A002
        input.headers = _with_id(input.headers, _id_of_workflow())
        return super().start_local_activity(input)

    async def start_child_workflow(
        self,
        input: StartChildWorkflowInput,  # noqa: A002
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        input.headers = _with_id(input.headers, _id_of_workflow())
        input.search_attributes = _with_attribute(input.search_attributes, _id_of_workflow())
        return await super().start_child_workflow(input)

    async def signal_child_workflow(self, input: SignalChildWorkflowInput) -> None:  # noqa: A002
        input.headers = _with_id(input.headers, _id_of_workflow())
        await super().signal_child_workflow(input)

    async def signal_external_workflow(self, input: SignalExternalWorkflowInput) -> None:  # noqa: A002
        input.headers = _with_id(input.headers, _id_of_workflow())
        await super().signal_external_workflow(input)

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:  # noqa: A002
        input.headers = _with_id(input.headers, _id_of_workflow())
        super().continue_as_new(input)


class _ActivityInbound(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        correlation_id = _id_in(input.headers)
        if correlation_id is None:
            return await super().execute_activity(input)
        with correlated(correlation_id):
            return await super().execute_activity(input)


def _id_of_workflow() -> str:
    """The starter's id. A start by a Schedule or the `temporal` program has none: then the workflow's own."""
    info = workflow.info()
    return _id_in(info.headers) or info.first_execution_run_id


def _bind_for_good() -> None:
    """Each task of a workflow has its own context. Resetting the id would fail, because a workflow that is
    evicted from the cache ends in another context than it began in."""
    correlate_for_good(_id_of_workflow())


def _log_who_asked(event: str, headers: Headers, **asked: str) -> None:
    """A signal's effects are logged under the workflow's id; this line joins that id with the sender's."""
    asked_by = _id_in(headers)
    if asked_by is None or asked_by == _id_of_workflow() or workflow.unsafe.is_replaying():
        return
    with workflow.unsafe.sandbox_unrestricted():
        log.info(event, **asked, asked_by=asked_by, workflow_id=workflow.info().workflow_id)


def _stamp(start: StartWorkflowInput | UpdateWithStartStartWorkflowInput) -> str:
    """Give a new workflow its id, unless its search attributes already contain one from a row."""
    given = start.search_attributes
    chosen = given.get(_ATTRIBUTE) if isinstance(given, TypedSearchAttributes) else None
    correlation_id = chosen or current_correlation_id() or new_id()
    start.headers = _with_id(start.headers, correlation_id)
    start.search_attributes = _with_attribute(given, correlation_id)
    return correlation_id


def _with_attribute(given: Attributes, correlation_id: str) -> Attributes:
    if given is not None and not isinstance(given, TypedSearchAttributes):
        return given
    pairs = [pair for pair in (given or ()) if pair.key != _ATTRIBUTE]
    own = given.get(_ATTRIBUTE) if given is not None else None
    return TypedSearchAttributes([*pairs, SearchAttributePair(_ATTRIBUTE, own or correlation_id)])


def _with_id(headers: Headers, correlation_id: str | None) -> Headers:
    if correlation_id is None:
        return headers
    return {**headers, HEADER: PayloadConverter.default.to_payload(correlation_id)}


def _id_in(headers: Headers) -> str | None:
    if HEADER not in headers:
        return None
    try:
        found = PayloadConverter.default.from_payload(headers[HEADER], str)
    except (
        Exception
    ):  # anybody may have written the header, and a workflow that fails here would be stuck for ever
        return None
    return found if isinstance(found, str) and is_correlation_id(found) else None
