"""The activities of a source, with their timeouts and retry policies."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception
from temporalio.workflow import ActivityCancellationType

from workflows import policies
from workflows.failures import error_record

with workflow.unsafe.imports_passed_through():
    from activities.feeds.feed import FeedActivities, ReplayRunInput, ReplayRunResult
    from activities.operations.replay import ReplayActivities, ReplayInput, ReplayResult
    from activities.series.backfill import (
        BackfillActivities,
        BackfillInput,
        BackfillProgress,
        BackfillResult,
        OwedInput,
        OwedPage,
    )
    from activities.series.source import (
        PauseInput,
        PinInput,
        PollFailure,
        PollInput,
        PollResult,
        SourceActivities,
    )
    from activities.watch import Watch, is_idle_look
    from fascicle.domain.errors import ErrorRecord
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import FETCH_QUEUE
    from fascicle.domain.series.cadence import Cadence
    from fascicle.domain.series.source_facts import SourceFacts

_BOOKS_TIMEOUT = timedelta(seconds=30)
_HEARTBEAT = timedelta(seconds=15)


class GaveUp(Exception):
    """A poll that failed for good, with the reason."""

    def __init__(self, error: ErrorRecord, attempts: int, delay: timedelta | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.attempts = attempts
        self.delay = delay
        """How long to wait before another attempt."""


class SourceCalls:
    def __init__(self, source_id: str, *, is_feed: bool = False) -> None:
        self._source_id = source_id
        self._is_feed = is_feed
        self._what = "items" if is_feed else "chapters"

    async def watch(self, priority: Priority, watch: Watch) -> PollResult | None:
        """Repeat the look until there is something to do; None: it was interrupted."""
        try:
            return await workflow.execute_activity_method(
                FeedActivities.poll_feed if self._is_feed else SourceActivities.poll_source,
                PollInput(source_id=self._source_id, now=workflow.now(), watch=watch),
                task_queue=FETCH_QUEUE,
                start_to_close_timeout=timedelta(minutes=10),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=policies.WATCH,
                # A cancelled look is waited for, so that its result is not lost.
                cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                priority=priority,
                summary=f"watch for new {self._what}, {watch.cadence}",
            )
        except ActivityError as error:
            if is_cancelled_exception(error) or (error.cause and is_idle_look(error.cause)):
                return None
            raise _gave_up(error, 1) from error

    async def poll(
        self, priority: Priority, *, probing: bool, woken: bool, policy: RetryPolicy | None = None
    ) -> PollResult:
        policy = policies.PROBE if probing else policy or policies.POLL
        try:
            return await workflow.execute_activity_method(
                FeedActivities.poll_feed if self._is_feed else SourceActivities.poll_source,
                PollInput(source_id=self._source_id, now=workflow.now(), woken=woken),
                task_queue=FETCH_QUEUE,
                start_to_close_timeout=timedelta(minutes=10),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=policy,
                priority=priority,
                summary="probe" if probing else f"look for new {self._what}",
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise _gave_up(error, policy.maximum_attempts) from error

    async def backfill(
        self, priority: Priority, progress: BackfillProgress | None, *, probing: bool
    ) -> BackfillResult:
        policy = policies.PROBE if probing else policies.POLL
        try:
            return await workflow.execute_activity_method(
                BackfillActivities.backfill_source,
                BackfillInput(source_id=self._source_id, now=workflow.now(), progress=progress),
                task_queue=FETCH_QUEUE,
                start_to_close_timeout=timedelta(hours=1),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=policy,
                priority=priority,
                summary="read the whole list",
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise _gave_up(error, policy.maximum_attempts) from error

    async def find_chapters(self, priority: Priority, wanted: str, cursor: str | None) -> ReplayResult:
        try:
            return await workflow.execute_activity_method(
                ReplayActivities.find_chapters,
                ReplayInput(source_id=self._source_id, wanted=wanted, now=workflow.now(), cursor=cursor),
                task_queue=FETCH_QUEUE,
                start_to_close_timeout=timedelta(hours=1),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=policies.POLL,
                priority=priority,
                summary=for_web_ui(f"replay: read the list for chapter {wanted}"),
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise _gave_up(error, policies.POLL.maximum_attempts) from error

    async def replay_run(self, priority: Priority, run_id: int) -> ReplayRunResult:
        try:
            return await workflow.execute_activity_method(
                FeedActivities.replay_run,
                ReplayRunInput(source_id=self._source_id, run_id=run_id, now=workflow.now()),
                task_queue=FETCH_QUEUE,
                start_to_close_timeout=timedelta(minutes=10),
                heartbeat_timeout=_HEARTBEAT,
                retry_policy=policies.POLL,
                priority=priority,
                summary=f"replay run {run_id}",
            )
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            raise _gave_up(error, policies.POLL.maximum_attempts) from error

    async def list_owed(self, after: int) -> OwedPage:
        return await workflow.execute_activity_method(
            BackfillActivities.list_owed,
            OwedInput(source_id=self._source_id, after=after),
            start_to_close_timeout=_BOOKS_TIMEOUT,
            retry_policy=policies.BOOKS,
            summary="news among what was stored",
        )

    async def record_failure(self, failure: GaveUp) -> SourceFacts | None:
        return await workflow.execute_activity_method(
            SourceActivities.record_poll_failure,
            PollFailure(
                source_id=self._source_id, now=workflow.now(), error=failure.error, attempts=failure.attempts
            ),
            start_to_close_timeout=_BOOKS_TIMEOUT,
            retry_policy=policies.BOOKS,
            summary="note the failed poll",
        )

    async def record_pause(self, paused: bool, reason: str) -> None:
        await workflow.execute_activity_method(
            SourceActivities.record_pause,
            PauseInput(
                source_id=self._source_id, paused_at=workflow.now() if paused else None, reason=reason
            ),
            start_to_close_timeout=_BOOKS_TIMEOUT,
            retry_policy=policies.BOOKS,
            summary="pause" if paused else "resume",
        )

    async def pin(self, cadence: Cadence | None) -> SourceFacts | None:
        return await workflow.execute_activity_method(
            SourceActivities.pin_cadence,
            PinInput(source_id=self._source_id, cadence=cadence, now=workflow.now()),
            start_to_close_timeout=_BOOKS_TIMEOUT,
            retry_policy=policies.BOOKS,
            summary=f"cadence: {cadence or 'by the rule'}",
        )


def _gave_up(error: ActivityError, attempts: int) -> GaveUp:
    record, cause = error_record(error), error.cause
    delay = cause.next_retry_delay if isinstance(cause, ApplicationError) else None
    return GaveUp(record, attempts if record.retryable else 1, delay)
