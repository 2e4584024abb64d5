"""The SDK's tracing, with traces that end: a source followed for years has one trace for each run."""

from typing import Any, NoReturn

from opentelemetry import trace
from temporalio import workflow
from temporalio.contrib.opentelemetry import TracingInterceptor, TracingWorkflowInboundInterceptor
from temporalio.worker import (
    ContinueAsNewInput,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)

_NEW_TRACE = "fascicle_new_trace"


class BoundedTracingInterceptor(TracingInterceptor):
    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[TracingWorkflowInboundInterceptor]:
        super().workflow_interceptor_class(input)
        input.unsafe_extern_functions[_NEW_TRACE] = self._new_trace
        return _Inbound

    def _new_trace(self, carrier: dict[str, Any], name: str, workflow_id: str) -> dict[str, Any]:
        """A new trace, with a link to the one before it."""
        before = trace.get_current_span(self.text_map_propagator.extract(carrier)).get_span_context()
        span = self.tracer.start_span(
            name,
            context=trace.set_span_in_context(trace.INVALID_SPAN),
            links=[trace.Link(before)] if before.is_valid else (),
            attributes={"temporalWorkflowID": workflow_id},
        )
        span.end()
        begun: dict[str, Any] = {}
        self.text_map_propagator.inject(begun, trace.set_span_in_context(span))
        return begun


class _Inbound(TracingWorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_Outbound(outbound, self))


class _Outbound(WorkflowOutboundInterceptor):
    """Runs after the SDK's own interceptor, which has put this run's trace into the next run's headers."""

    def __init__(
        self,
        next: WorkflowOutboundInterceptor,  # noqa: A002
        root: TracingWorkflowInboundInterceptor,
    ) -> None:
        super().__init__(next)
        self._root = root

    def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:  # noqa: A002
        key, converter = self._root.header_key, self._root.payload_converter
        if key in input.headers and not workflow.unsafe.is_replaying():
            info = workflow.info()
            begun = workflow.extern_functions()[_NEW_TRACE](
                converter.from_payload(input.headers[key]), f"NextRun:{info.workflow_type}", info.workflow_id
            )
            input.headers = {**input.headers, key: converter.to_payload(begun)}
        super().continue_as_new(input)
