"""Read the cause of an activity's failure from Temporal's exception."""

from temporalio import exceptions, workflow
from temporalio.exceptions import ActivityError, ApplicationError, FailureError

with workflow.unsafe.imports_passed_through():
    from fascicle.domain.errors import ErrorRecord


def error_record(error: FailureError, *, of: str = "") -> ErrorRecord:
    """`of`: the name of a local activity, because its error does not contain the name."""
    cause, stage = (error.cause, error.activity_type) if isinstance(error, ActivityError) else (error, of)
    if isinstance(cause, ApplicationError) and cause.details:
        return ErrorRecord.model_validate(cause.details[0])
    is_shutdown = isinstance(cause, ApplicationError) and cause.type == "WorkerShutdown"
    if is_shutdown or isinstance(cause, exceptions.TimeoutError):
        return ErrorRecord(
            error_type="TimeoutError",
            error_code="worker_lost",
            message=f"No worker finished {stage} in time.",
            retryable=True,
            stage=stage,
        )
    return ErrorRecord(
        error_type=getattr(cause, "type", None) or type(cause).__name__,
        error_code="crashed",
        message=str(cause)[:500],
        retryable=True,
        stage=stage,
    )
