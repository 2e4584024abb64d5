"""What an activity's failure was, read off Temporal's exception."""

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from fascicle.domain.errors import ErrorRecord


def error_record(error: ActivityError) -> ErrorRecord:
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.details:
        return ErrorRecord.model_validate(cause.details[0])
    is_shutdown = isinstance(cause, ApplicationError) and cause.type == "WorkerShutdown"
    if is_shutdown or isinstance(cause, exceptions.TimeoutError):
        return ErrorRecord(
            error_type="TimeoutError",
            error_code="worker_lost",
            message=f"No worker finished {error.activity_type} in time.",
            retryable=True,
            stage=error.activity_type,
        )
    return ErrorRecord(
        error_type=getattr(cause, "type", None) or type(cause).__name__,
        error_code="crashed",
        message=str(cause)[:500],
        retryable=True,
        stage=error.activity_type,
    )
