"""An activity that never began, because its worker lacked the key to its input, is no failed attempt (X5).

It is scheduled again until a worker can read it, whatever its retry policy says.
"""

from collections.abc import Generator
from datetime import timedelta
from typing import Any, cast

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.worker import (
    Interceptor,
    StartActivityInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle

with workflow.unsafe.imports_passed_through():
    from fascicle.domain.names import ACTIVITY_UNREAD

_OFFERED_AGAIN = timedelta(minutes=1)


class OfferUnreadAgain(Interceptor):
    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: A002
    ) -> type[WorkflowInboundInterceptor]:
        return _Inbound


class _Inbound(WorkflowInboundInterceptor):
    def init(self, outbound: WorkflowOutboundInterceptor) -> None:
        super().init(_Outbound(outbound))


class _Outbound(WorkflowOutboundInterceptor):
    def start_activity(self, input: StartActivityInput) -> ActivityHandle[Any]:  # noqa: A002
        # Our workflows only await this handle. It adds no task, so the order of events stays the same.
        return cast("ActivityHandle[Any]", _UntilRead(self.next, input))


class _UntilRead:
    def __init__(self, following: WorkflowOutboundInterceptor, given: StartActivityInput) -> None:
        self._following = following
        self._input = given
        self._handle = following.start_activity(given)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._result().__await__()

    async def _result(self) -> Any:
        while True:
            try:
                return await self._handle
            except ActivityError as error:
                if not _never_began(error):
                    raise
            await workflow.sleep(
                _OFFERED_AGAIN, summary=f"{self._input.activity} could not be read: a key is missing"
            )
            self._handle = self._following.start_activity(self._input)


def _never_began(error: ActivityError) -> bool:
    return isinstance(error.cause, ApplicationError) and error.cause.type == ACTIVITY_UNREAD
