"""SummarizeWorkflow: one URL becomes a checked summary (R1–R5). Its id is the lock on the request.

Each stage keeps its result in the database; a run that starts again skips finished stages.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.notifications.notify import DeliverInput, DeliverResult, NotifyActivities
    from activities.summaries.request import (
        Begun,
        RequestActivities,
        RequestFailure,
        RequestInput,
        StageInput,
        StageResult,
        StageWait,
    )
    from fascicle.domain.errors import ErrorRecord
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import DELIVER_QUEUE, FETCH_QUEUE, MAIN_QUEUE, request_workflow_id
    from fascicle.domain.summaries.request import DONE, OPEN, OUR_FAULTS, PROGRESS, Stage
    from fascicle.jobs.summaries import SummarizeInput, request_priority
    from workflows import policies
    from workflows.failures import error_record

_SHORTEST = 0.05
# How often a site or a model may say "later" within one stage.
_MOST_REFUSALS = 20
# So many workers may die during one stage; then the page may be the cause.
_MOST_LOST = 5
_OUR_FAULT_SECONDS = 2.0
_TELL_AGAIN_SECONDS = 60.0
_USUAL_REST = timedelta(milliseconds=500)
_ONCE = RetryPolicy(maximum_attempts=1)
_STAGES = {
    Stage.EXTRACTING: (RequestActivities.extract_article, FETCH_QUEUE, timedelta(minutes=5)),
    # A long text takes many calls of a model, and each call may take minutes.
    Stage.SUMMARIZING: (RequestActivities.summarize_article, FETCH_QUEUE, timedelta(hours=2)),
    Stage.VALIDATING: (RequestActivities.validate_summary, MAIN_QUEUE, timedelta(minutes=1)),
    Stage.PERSISTING: (RequestActivities.persist_summary, MAIN_QUEUE, timedelta(minutes=1)),
}


class RequestProgress(BaseModel):
    status: str = "pending"
    stage: Stage | None = None
    progress: int = 0
    waiting_for: str = ""


class _GaveUp(Exception):
    def __init__(self, error: ErrorRecord) -> None:
        super().__init__(error.message)
        self.error = error


class _Over(Exception):
    """Cancelled, or done by an earlier run: only the messages are left to send."""


@workflow.defn
class SummarizeWorkflow:
    @workflow.init
    def __init__(self, request: SummarizeInput) -> None:
        self._request = request
        self._now = RequestProgress()
        self._attempts = 3
        self._round = request.round
        self._look_again = False

    @workflow.run
    async def run(self, request: SummarizeInput) -> RequestProgress:
        ended = await self._until_over()
        while self._look_again:  # a new request may have arrived while this was about to end
            ended = await self._until_over() or ended
        if ended is not None:
            raise ended
        return self._now

    async def _until_over(self) -> BaseException | None:
        """Returns the exception that the workflow is to end with: a failure, a cancellation or None."""
        try:
            await self._take_a_slot()
            await self._stage(Stage.EXTRACTING)
            await self._stage(Stage.SUMMARIZING)
            if (await self._stage(Stage.VALIDATING)).again:
                await self._stage(Stage.SUMMARIZING)
                await self._stage(Stage.VALIDATING)
            await self._end(await self._stage(Stage.PERSISTING))
        except _Over:
            await self._tell()
        except _GaveUp as failure:
            return await self._fail(failure.error)
        except BaseException as error:
            if not is_cancelled_exception(error):
                raise
            if (opened := await self._record_cancelled()) is not None:
                workflow.continue_as_new(self._request.model_copy(update={"round": opened}))
            return error
        return None

    @workflow.signal
    def look_again(self) -> None:
        """The row or the turn may have changed: a wait ends, and its condition is checked again."""
        self._look_again = True

    @workflow.query
    def progress(self) -> RequestProgress:
        return self._now

    async def _take_a_slot(self) -> None:
        """The number of requests at work is limited; the others wait in the queue."""
        while not (begun := await self._begin()).granted:
            self._show(status=begun.status, waiting_for=begun.why)
            if begun.status not in OPEN:
                raise _Over
            self._continue_as_new_if_suggested()
            await self._wait(begun.wait_seconds, begun.why)
        self._attempts, self._round = begun.attempts, begun.round

    async def _begin(self) -> Begun:
        self._look_again = False
        return await workflow.execute_activity_method(
            RequestActivities.begin_request,
            self._input(),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="whether it is its turn",
        )

    async def _stage(self, stage: Stage) -> StageResult:
        """Try the stage as often as the settings allow; waits and our own faults do not count."""
        tries = _Tries()
        while True:
            self._look_again = False
            self._continue_as_new_if_suggested()
            self._show(status="running", stage=stage, progress=PROGRESS[stage])
            try:
                result = await self._execute(stage, tries.failed + 1)
            except ActivityError as error:
                await self._after_failure(error, stage, tries)
                continue
            if result.gone is not None:
                self._show(status=result.gone)
                raise _Over
            if result.wait is None:
                return result
            if tries.refusals_after(result) > _MOST_REFUSALS:
                raise _GaveUp(self._refused(result.wait, stage, tries.refused))
            await self._sit_out(result.wait)

    async def _execute(self, stage: Stage, attempt: int) -> StageResult:
        activity, queue, longest = _STAGES[stage]
        step = StageInput(stage=stage, attempt=attempt, **self._input().model_dump())
        return await workflow.execute_activity_method(
            activity,
            step,
            task_queue=queue,
            start_to_close_timeout=longest,
            heartbeat_timeout=timedelta(seconds=15),
            # Attempts are counted here, because a worker that dies must not count as the page's failure.
            retry_policy=_ONCE,
            priority=request_priority(self._request),
            summary=for_web_ui(f"{stage}: {self._request.url}"),
        )

    async def _after_failure(self, error: ActivityError, stage: Stage, tries: "_Tries") -> None:
        """Wait before the next attempt, or give up."""
        if is_cancelled_exception(error):
            raise error
        named = {"stage": stage.value, "correlation_id": self._request.correlation_id}
        record = error_record(error).model_copy(update=named)
        if record.error_code in OUR_FAULTS:
            tries.lost += record.error_code == "worker_lost"
            if tries.lost > _MOST_LOST:
                raise _GaveUp(record.model_copy(update={"attempt": tries.failed + 1}))
            await self._wait(_OUR_FAULT_SECONDS, f"a fault of ours: {record.error_code}")
            return
        tries.failed += 1
        record = record.model_copy(update={"attempt": tries.failed})
        if not record.retryable or tries.failed >= self._attempts:
            raise _GaveUp(record)
        why = f"attempt {tries.failed} of {self._attempts} failed: {record.error_code}"
        # The worker that failed has chosen the delay by its settings, with jitter.
        await workflow.sleep(_rest(error), summary=for_web_ui(why))

    def _refused(self, wait: StageWait, stage: Stage, refusals: int) -> ErrorRecord:
        return ErrorRecord(
            error_type="MustWait",
            error_code=wait.code,
            message=wait.reason,
            retryable=True,
            stage=stage.value,
            attempt=refusals,
            correlation_id=self._request.correlation_id,
        )

    async def _sit_out(self, wait: StageWait) -> None:
        self._show(status="pending" if wait.stepped_back else "running", waiting_for=wait.reason)
        await self._wait(wait.seconds, wait.reason)
        if wait.stepped_back:
            await self._take_a_slot()

    async def _end(self, kept: StageResult) -> None:
        self._show(status="succeeded", progress=DONE)
        if kept.owed:
            await self._tell()

    async def _fail(self, error: ErrorRecord) -> ApplicationError:
        self._show(status="failed", stage=self._now.stage, waiting_for=f"{error.error_code}: {error.message}")
        self._look_again = False
        recorded: StageResult = await workflow.execute_activity_method(
            RequestActivities.record_request_failure,
            RequestFailure(error=error, **self._input().model_dump()),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary=f"failed: {error.error_code}",
        )
        if recorded.owed:
            await self._tell()
        # With the record, so that Temporal shows the same as the row.
        message = f"{error.stage}: {error.message}"
        return ApplicationError(message, error.model_dump(), type=error.error_code, non_retryable=True)

    async def _record_cancelled(self) -> int | None:
        """Returns the new round if the summary was requested again meanwhile."""
        self._show(status="cancelled")
        return await asyncio.shield(
            workflow.execute_activity_method(
                RequestActivities.record_request_cancelled,
                self._input(),
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=policies.BOOKS,
                summary="cancelled",
            )
        )

    async def _tell(self) -> None:
        """Send messages to the requesters until each is settled or a new request arrives."""
        while (rest := await self._deliver()) is not None and not self._look_again:
            self._continue_as_new_if_suggested()
            await self._wait(rest, "until the next message is due")

    async def _deliver(self) -> float | None:
        """Returns the seconds until more is to be delivered; a failed round is repeated later."""
        try:
            told = await self._execute_delivery()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            return _TELL_AGAIN_SECONDS
        return told.next_attempt_seconds

    async def _execute_delivery(self) -> DeliverResult:
        return await workflow.execute_activity_method(
            NotifyActivities.deliver_due,
            DeliverInput(job_key=request_workflow_id(self._request.request_id), now=workflow.now()),
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary=for_web_ui(f"messages about {self._request.url}"),
        )

    async def _wait(self, seconds: float, why: str) -> None:
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._look_again,
                timeout=timedelta(seconds=max(_SHORTEST, seconds)),
                timeout_summary=for_web_ui(why),
            )

    def _input(self) -> RequestInput:
        return RequestInput(
            request_id=self._request.request_id,
            correlation_id=self._request.correlation_id,
            now=workflow.now(),
            round=self._round,
        )

    def _continue_as_new_if_suggested(self) -> None:
        """The new run needs no state: all of it is in the database."""
        if workflow.info().is_continue_as_new_suggested():
            workflow.continue_as_new(self._request)

    def _show(
        self, *, status: str, stage: Stage | None = None, progress: int = 0, waiting_for: str = ""
    ) -> None:
        """Update the query and the Web UI. While the request waits, it keeps its stage."""
        self._now = RequestProgress(
            status=status,
            stage=stage or (self._now.stage if waiting_for else None),
            progress=progress or self._now.progress,
            waiting_for=waiting_for,
        )
        lines = [f"**{self._request.url}**", f"- {status}, {self._now.progress} %"]
        lines += [f"- stage: {self._now.stage}"] if self._now.stage else []
        lines += [f"- {waiting_for}"] if waiting_for else []
        lines.append(f"- correlation id: {self._request.correlation_id}")
        workflow.set_current_details("\n".join(lines))


@dataclass
class _Tries:
    """The failures and refusals within one stage."""

    failed: int = 0
    lost: int = 0
    refused: int = 0
    steps: int = 0

    def refusals_after(self, result: StageResult) -> int:
        """The refusals in a row: any progress starts the count again."""
        if result.steps > self.steps:
            self.steps, self.refused = result.steps, 0
        self.refused += result.wait is not None and result.wait.refused
        return self.refused


def _rest(error: ActivityError) -> timedelta:
    rest = error.cause.next_retry_delay if isinstance(error.cause, ApplicationError) else None
    return max(rest or _USUAL_REST, timedelta(seconds=_SHORTEST))
