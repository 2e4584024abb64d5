"""SweepWorkflow: looks at a site's list of news every few minutes and wakes the sources concerned (C16)."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.series.sweep import SweepActivities, SweepFailure, SweepInput, SweepResult
    from fascicle.domain.errors import ErrorRecord
    from fascicle.domain.names import FETCH_QUEUE
    from fascicle.domain.series.sweep import FAILURES_UNTIL_LOST
    from fascicle.jobs.series import SweepState, SweepWorkflowInput
    from workflows import policies
    from workflows.failures import error_record

# How often to check whether somebody follows a series on the site, as long as nobody does.
_IDLE = timedelta(minutes=15)
# A site that refuses this often in a row counts as failing.
_MOST_REFUSALS = 20
# A site that keeps failing is swept less and less often, down to once in so many intervals.
_MOST_PATIENCE = 16


class SweepStatus(SweepState):
    """The answer to the `status` query."""

    site: str
    waiting_for: str


@workflow.defn
class SweepWorkflow:
    @workflow.init
    def __init__(self, sweep: SweepWorkflowInput) -> None:
        self._site = sweep.site
        self._state = sweep.state or SweepState()
        self._wanted_now = False
        self._stopped = False
        self._waiting_for = ""

    @workflow.run
    async def run(self, sweep: SweepWorkflowInput) -> SweepStatus:
        try:
            while not self._stopped:
                delay, why = await self._sweep()
                await self._rest(delay, why)
                if workflow.info().is_continue_as_new_suggested() and not self._stopped:
                    workflow.continue_as_new(SweepWorkflowInput(site=self._site, state=self._state))
        except (asyncio.CancelledError, ActivityError) as error:
            if is_cancelled_exception(error):  # in the middle of a rest, or of a sweep
                await asyncio.shield(self._release_sources())
            raise
        await self._release_sources()
        return self.status()

    @workflow.signal
    def sweep_now(self) -> None:
        self._wanted_now = True

    @workflow.signal
    def stop(self) -> None:
        """End the sweep; the sources go back to their own intervals."""
        self._stopped = True

    @workflow.query
    def status(self) -> SweepStatus:
        state = self._state.model_dump(exclude={"progress"})
        return SweepStatus(site=self._site, waiting_for=self._waiting_for, **state)

    async def _sweep(self) -> tuple[timedelta, str]:
        """Run one round. Returns how long to rest, and why."""
        self._wanted_now = False
        self._state.rounds += 1
        self._state.last_sweep_at = workflow.now()
        try:
            result = await self._look()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            return await self._record_failure(error_record(error))
        self._state.interval_seconds = result.interval_seconds
        if result.wait is not None:
            self._state.progress = result.progress
            return await self._sit_out(result)
        self._state.progress = None
        self._state.refusals = self._state.failures = 0
        if not result.sources:
            self._state.last_outcome = "nobody follows anything here"
            return _IDLE, f"nobody follows anything on {self._site}"
        self._state.woken += result.woken
        self._state.last_outcome = _outcome(result)
        return self._interval(), f"next look at what is new on {self._site}"

    async def _look(self) -> SweepResult:
        return await workflow.execute_activity_method(
            SweepActivities.sweep_site,
            SweepInput(site=self._site, now=workflow.now(), progress=self._state.progress),
            task_queue=FETCH_QUEUE,
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.POLL,
            priority=Priority(priority_key=1, fairness_key=self._site),
            summary=f"what is new on {self._site}",
        )

    async def _sit_out(self, result: SweepResult) -> tuple[timedelta, str]:
        """A wait is not a failure until the site has refused too often in a row."""
        assert result.wait is not None
        self._state.refusals += result.wait.refused
        self._state.last_outcome = f"told to wait: {result.wait.reason}"
        if self._state.refusals < _MOST_REFUSALS:
            return timedelta(seconds=max(0.1, result.wait.seconds)), result.wait.reason[:200]
        self._state.refusals = 0
        refused = ErrorRecord(
            error_type="MustWait", error_code="rate_limited", message=result.wait.reason, retryable=True
        )
        return await self._record_failure(refused)

    async def _record_failure(self, error: ErrorRecord) -> tuple[timedelta, str]:
        self._state.failures += 1
        self._state.progress = None
        await workflow.execute_activity_method(
            SweepActivities.record_sweep_failure,
            SweepFailure(site=self._site, failures=self._state.failures, error=error),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary="note the failed sweep",
        )
        self._state.last_outcome = f"failed {self._state.failures} times in a row: {error.error_code}"
        if self._state.failures == FAILURES_UNTIL_LOST:
            await self._release_sources()
        patience = min(2 ** (self._state.failures - 1), _MOST_PATIENCE)
        return self._interval() * patience, f"{self._site} failed ({error.error_code}): next try"

    async def _rest(self, delay: timedelta, why: str) -> None:
        self._waiting_for = why
        workflow.set_current_details(_details(self.status()))
        try:
            await workflow.wait_condition(
                lambda: self._wanted_now or self._stopped, timeout=delay, timeout_summary=why
            )
        except TimeoutError:
            pass
        finally:
            self._waiting_for = ""

    async def _release_sources(self) -> None:
        """Send the sources back to their own intervals: a sweep that does not work wakes none of them."""
        await workflow.execute_activity_method(
            SweepActivities.release_sources,
            SweepInput(site=self._site, now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.BOOKS,
            summary="the sources keep their own time again",
        )

    def _interval(self) -> timedelta:
        """With a jitter of ±10 %, so that several installations do not sweep at the same time."""
        return timedelta(seconds=self._state.interval_seconds * workflow.random().uniform(0.9, 1.1))


def _outcome(result: SweepResult) -> str:
    progress = result.progress
    read = f"{result.woken} sources woken"
    if progress is not None:
        read = f"{progress.entries} entries on {progress.pages} pages, {read}"
    return f"more was new than the site shows: {read}" if result.gap else read


def _details(status: SweepStatus) -> str:
    return "\n".join(
        [
            f"## What is new on {status.site}",
            f"- {status.rounds} sweeps, {status.woken} wake-ups",
            f"- the last: {status.last_sweep_at or '-'} ({status.last_outcome})",
            f"- waiting: {status.waiting_for}",
        ]
    )
