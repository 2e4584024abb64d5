"""A source's look at its site: once or repeated, with its waits and its remaining attempts."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from activities.series.source import PollResult, Wait
    from activities.watch import Watch
    from fascicle.domain.errors import ErrorRecord
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import PATIENT_WAITS, PAUSE_ENDS_POLL, WATCHED_SOURCES
    from fascicle.domain.series.breaker import Circuit
    from fascicle.jobs.series import SourceState
    from workflows import policies
    from workflows.patches import is_patched
    from workflows.series.source_calls import GaveUp, SourceCalls
    from workflows.series.source_children import SourceChildren
    from workflows.series.source_state import Wishes

T = TypeVar("T")
U = TypeVar("U")
# A site that refuses this often in one poll counts as failing.
MOST_REFUSALS = 20
# A failed poll is not retried at once if the next poll is this near.
NEAR = timedelta(minutes=10)


class SourceLook:
    def __init__(
        self,
        code: int,
        state: SourceState,
        wishes: Wishes,
        calls: SourceCalls,
        children: SourceChildren,
        show: Callable[[], None],
    ) -> None:
        self._code = code
        self._state = state
        self._wishes = wishes
        self._calls = calls
        self._children = children
        self._show = show
        self.waiting_for = ""
        self.is_watching = False

    async def look(self) -> PollResult | None:
        """Poll the site. Waits use up no attempt. None: interrupted, because a wish comes first."""
        refusals = 0
        while True:
            result = await (self._watch() if self._may_watch() else self._look_once())
            if result is None:
                self._state.interrupted = True
                return None
            self._state.facts = result.facts or self._state.facts
            if result.wait is None or not await self.sit_out(result.wait):
                return result
            if self.goes_on_in_a_new_run():
                return result
            refusals = count_refusal(refusals, result.wait)

    def is_probing(self) -> bool:
        return self._state.facts.circuit is not Circuit.CLOSED

    async def sit_out(self, wait: Wait) -> bool:
        """Wait as asked for. False: the source is to stop or pause instead, so the caller drops the poll."""
        self.waiting_for = wait.reason
        self._show()
        try:
            await workflow.wait_condition(
                self._wishes.interrupt,
                timeout=timedelta(seconds=max(0.1, wait.seconds)),
                timeout_summary=for_web_ui(wait.reason),
            )
        except TimeoutError:
            return True
        finally:
            self.waiting_for = ""
        return False

    def _may_watch(self) -> bool:
        """A look that somebody asked for, and a probe of an open circuit, must report every outcome."""
        state = self._state
        wanted = state.woken or state.asked_for or state.owed_after is not None or self.is_probing()
        return not wanted and is_patched(WATCHED_SOURCES, self._code)

    async def _watch(self) -> PollResult | None:
        """Look until there is something to do or a wish arrives."""
        facts = self._state.facts
        watch = Watch(cadence=facts.cadence, title=facts.title, resumed=self._state.interrupted)
        looking = asyncio.create_task(self._calls.watch(self._children.priority(), watch))
        self.is_watching, self.waiting_for = True, "the next look that finds something"
        self._show()
        await workflow.wait_condition(lambda: looking.done() or self._wishes.any())
        self.is_watching, self.waiting_for = False, ""
        looking.cancel()
        try:
            result = await looking
        except GaveUp as failure:
            return await self._try_again(failure)
        if result is not None:
            self._state.count_poll(workflow.now(), result.looks)
        return result

    async def _try_again(self, failure: GaveUp) -> PollResult | None:
        """Use the poll's remaining attempts, unless the next poll is near anyway."""
        if not failure.error.retryable or self._is_next_near():
            self._state.count_poll(workflow.now())
            raise failure
        why = f"trying again: {failure.error.message}"
        delay = failure.delay or timedelta(0)
        if not await self.sit_out(Wait(seconds=delay.total_seconds(), reason=why, refused=False)):
            return None
        try:
            return await self._look_once(policies.POLL_AGAIN)
        except GaveUp as again:
            raise GaveUp(again.error, failure.attempts + again.attempts) from again

    async def _look_once(self, policy: RetryPolicy | None = None) -> PollResult | None:
        self._state.count_poll(workflow.now())
        return await self.unless_interrupted(
            self._calls.poll(
                self._children.priority(),
                probing=self.is_probing(),
                woken=self._state.woken,
                policy=policy or (policies.PROBE if self._is_next_near() else policies.POLL),
            ),
            None,
        )

    async def unless_interrupted(self, reading: Coroutine[Any, Any, T], interrupted: U) -> T | U:
        """Return `interrupted` if the source is to stop or pause meanwhile: a poll that kills its worker is
        repeated for a long time, and a pause must end it."""
        if is_patched(PAUSE_ENDS_POLL, self._code):
            return await self._until_interrupted(asyncio.create_task(reading), interrupted)
        else:  # noqa: RET505 - so that the outline shows what the patch guards
            return await reading

    async def _until_interrupted(self, reading: asyncio.Task[T], interrupted: U) -> T | U:
        await workflow.wait_condition(lambda: reading.done() or self._wishes.interrupt())
        is_over = reading.done()
        if not is_over:
            reading.cancel()
        try:
            return await reading
        except ActivityError as error:
            if not is_over and is_cancelled_exception(error):
                return interrupted
            raise

    def goes_on_in_a_new_run(self) -> bool:
        """True: the caller ends the run with the poll still due. A site may be paused for months, and the
        history of a poll that waits for it must not outgrow Temporal's limit."""
        if not (workflow.info().is_continue_as_new_suggested() and is_patched(PATIENT_WAITS, self._code)):
            return False
        self._state.due_at = workflow.now()
        return True

    def _is_next_near(self) -> bool:
        every = self._state.every_seconds
        return every is not None and timedelta(seconds=every) <= NEAR


def count_refusal(refusals: int, wait: Wait) -> int:
    refusals += wait.refused
    if refusals >= MOST_REFUSALS:
        error = ErrorRecord(
            error_type="MustWait", error_code="rate_limited", message=wait.reason, retryable=True
        )
        raise GaveUp(error, refusals)
    return refusals
