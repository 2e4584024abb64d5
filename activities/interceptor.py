"""Wraps every activity: translates our errors to Temporal's, counts and times jobs, names them in logs."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import structlog
from temporalio import activity
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.watch import is_idle_look
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import FascicleError
from fascicle.domain.summaries.request_rule import RetryRule
from fascicle.process.correlation_id import current_correlation_id
from fascicle.process.logs import get_logger
from fascicle.temporal.metrics import Metrics

# These only check whether there is anything to do: a log line for each would hide the others.
_ROUTINE = frozenset(
    {
        "age_out",
        "compose_digests",
        "find_orphans",
        "fire_automations",
        "list_due_accounts",
        "plan_fic",
        "plan_post",
        "poll_feed",
        "poll_source",
        "remove_deleted_files",
        "sweep_site",
        "warn_expiring",
    }
)

log = get_logger("fascicle.activity")


class FascicleInterceptor(Interceptor):
    """`rules`: retry delays of activities that do not use the common one, by activity name."""

    def __init__(
        self, metrics: Metrics, *, retry_base_seconds: float, rules: Mapping[str, RetryRule] | None = None
    ) -> None:
        self._metrics = metrics
        self._retry_base = retry_base_seconds
        self._rules = rules or {}

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        return _Inbound(next, self._metrics, self._rest)

    def _rest(self, kind: str, failures: int) -> float:
        draw = random.uniform(-1, 1)  # noqa: S311
        rule = self._rules.get(kind)
        return (
            backoff_seconds(failures, self._retry_base, draw) if rule is None else rule.delay(failures, draw)
        )


class _Inbound(ActivityInboundInterceptor):
    def __init__(
        self, following: ActivityInboundInterceptor, metrics: Metrics, rest: Callable[[str, int], float]
    ) -> None:
        super().__init__(following)
        self._metrics = metrics
        self._rest = rest

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        info = activity.info()
        started = time.monotonic()
        status = "succeeded"
        self._metrics.job_started()
        names = _names(input)
        with structlog.contextvars.bound_contextvars(workflow_id=info.workflow_id, **names):
            try:
                return await super().execute_activity(input)
            except FascicleError as error:
                retried = error.retryable and not _is_watching(input)
                status = "retried" if retried else "failed"
                raise self._translated(error, names, retried=retried) from error
            except (CancelledError, asyncio.CancelledError):
                status = "cancelled"
                raise
            except Exception as error:
                if is_idle_look(error):
                    raise
                status = "crashed"
                log.exception("activity_crashed", error=str(error))
                if _is_watching(input):
                    raise ApplicationError(
                        str(error), type=type(error).__name__, non_retryable=True
                    ) from error
                raise
            finally:
                seconds = time.monotonic() - started
                self._metrics.job_ended(info.activity_type, status, seconds)
                if status == "succeeded":
                    _log_done(info.activity_type, seconds)

    def _translated(self, error: FascicleError, names: dict[str, Any], *, retried: bool) -> ApplicationError:
        delay = self._rest(activity.info().activity_type, names["attempt"])
        record = error.record(**names)
        log.warning(
            "activity_failed",
            error=record.model_dump(exclude_none=True),
            delay_ms=round(delay * 1000) if error.retryable else None,
        )
        return ApplicationError(
            error.message,
            record.model_dump(),
            type=error.code,
            non_retryable=not retried,
            # Also set if the workflow itself does the retries.
            next_retry_delay=timedelta(seconds=delay) if error.retryable else None,
        )


def _is_watching(called: ExecuteActivityInput) -> bool:
    """A watch is retried only for idle looks: after a failure the workflow decides what to do."""
    return bool(called.args) and getattr(called.args[0], "watch", None) is not None


def _log_done(kind: str, seconds: float) -> None:
    level = logging.DEBUG if kind in _ROUTINE else logging.INFO
    log.log(level, "activity_done", duration_ms=round(seconds * 1000))


def _names(called: ExecuteActivityInput) -> dict[str, Any]:
    """The names of the job in logs and records: its stage, its correlation id, and the attempt (by the
    workflow's count, if it counts them)."""
    given, info = called.args[0] if called.args else None, activity.info()
    names: dict[str, Any] = {
        "stage": str(getattr(given, "stage", None) or info.activity_type),
        "attempt": getattr(given, "attempt", None) or info.attempt,
    }
    if correlation_id := getattr(given, "correlation_id", None) or current_correlation_id():
        names["correlation_id"] = str(correlation_id)
    return names
