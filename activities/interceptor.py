"""Around every activity: our errors become Temporal's, jobs are counted and timed, logs carry their names."""

import asyncio
import random
import time
from datetime import timedelta
from typing import Any

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.metrics import Metrics
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import FascicleError
from fascicle.runtime.logs import get_logger

log = get_logger("fascicle.activity")


class FascicleInterceptor(Interceptor):
    def __init__(self, metrics: Metrics, *, retry_base_seconds: float) -> None:
        self._metrics = metrics
        self._retry_base = retry_base_seconds

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Inbound(next, self._metrics, self._retry_base)


class _Inbound(ActivityInboundInterceptor):
    def __init__(self, following: ActivityInboundInterceptor, metrics: Metrics, retry_base: float) -> None:
        super().__init__(following)
        self._metrics = metrics
        self._retry_base = retry_base

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        info = activity.info()
        started = time.monotonic()
        status = "succeeded"
        self._metrics.job_started()
        with structlog.contextvars.bound_contextvars(
            workflow_id=info.workflow_id, stage=info.activity_type, attempt=info.attempt
        ):
            try:
                return await super().execute_activity(input)
            except FascicleError as error:
                status = "retried" if error.retryable else "failed"
                raise self._translated(error) from error
            except (CancelledError, asyncio.CancelledError):
                status = "cancelled"
                raise
            except Exception as error:
                status = "crashed"
                log.exception("activity_crashed", error=str(error))
                raise
            finally:
                self._metrics.job_ended(info.activity_type, status, time.monotonic() - started)

    def _translated(self, error: FascicleError) -> ApplicationError:
        attempt = activity.info().attempt
        delay = backoff_seconds(attempt, self._retry_base, random.uniform(-1, 1))  # noqa: S311
        record = error.record(stage=activity.info().activity_type, attempt=attempt)
        log.warning(
            "activity_failed",
            error=record.model_dump(exclude_none=True),
            delay_ms=round(delay * 1000) if error.retryable else None,
        )
        return ApplicationError(
            error.message,
            record.model_dump(),
            type=error.code,
            non_retryable=not error.retryable,
            next_retry_delay=timedelta(seconds=delay) if error.retryable else None,
        )
