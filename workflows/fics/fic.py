"""ParseFicWorkflow: one fic or series, read once for all its subscribers (F1–F7).

The job's row says what comes next; the workflow decides only when.
"""

import contextlib
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.fics.fic import (
        EnlistInput,
        FicActivities,
        FicFailureInput,
        FicStepInput,
        FicStepResult,
    )
    from activities.notifications.discord import DiscordActivities, RepliesInput
    from activities.notifications.notify import DeliverInput, NotifyActivities
    from fascicle.domain.fics.fic import FicView, Subscription
    from fascicle.domain.fics.fic_plan import FicPlan, FicPlanInput, FicStep
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import DELIVER_QUEUE, FETCH_QUEUE
    from fascicle.jobs.fics import FicInput, fic_priority
    from workflows import policies
    from workflows.failures import error_record

_ONCE = RetryPolicy(maximum_attempts=1)
_SHORTEST = 0.05
_TELL_AGAIN_SECONDS = 60.0


class FicResult(BaseModel):
    state: str


@dataclass
class _Ticket:
    """One `subscribe` call that waits for its answer."""

    asked: Subscription
    view: FicView | None = None
    failure: str | None = None


@workflow.defn
class ParseFicWorkflow:
    @workflow.init
    def __init__(self, fic: FicInput) -> None:
        self._ref = fic.ref
        self._plan = FicPlan(step=FicStep.WAIT)
        self._look_again = False
        self._tickets: list[_Ticket] = []
        self._enlisting = False

    @workflow.run
    async def run(self, fic: FicInput) -> FicResult:
        await self._until_over()
        while await self._has_second_thoughts():
            await self._until_over()
        return FicResult(state=self._plan.state)

    @workflow.update
    async def subscribe(self, asked: Subscription) -> FicView:
        """Subscribe to this fic. Calls that arrive together are entered by one activity."""
        ticket = _Ticket(asked)
        self._tickets.append(ticket)
        while not _served(ticket):
            if self._enlisting:
                await workflow.wait_condition(lambda: _served(ticket) or not self._enlisting)
            else:
                await self._enlist()
        if ticket.view is None:
            raise ApplicationError(ticket.failure or "not entered", non_retryable=True)
        return ticket.view

    @workflow.signal
    def look_again(self) -> None:
        """Plan again: the row or the turn may have changed."""
        self._look_again = True

    @workflow.query
    def plan(self) -> FicPlan:
        return self._plan

    async def _enlist(self) -> None:
        """Enter all waiting tickets by one activity."""
        self._enlisting = True
        served, self._tickets = self._tickets, []
        try:
            view = await workflow.execute_activity_method(
                FicActivities.enlist_subscribers,
                EnlistInput(ref=self._ref, subscriptions=[t.asked for t in served], now=workflow.now()),
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=policies.POLL,
                summary=_who(served),
            )
            for ticket in served:
                ticket.view = view
        except ActivityError as error:
            for ticket in served:
                ticket.failure = error_record(error).message
        finally:
            self._enlisting = False
            self._look_again = True

    async def _until_over(self) -> None:
        await self._make_plan()
        while self._plan.step is not FicStep.OVER:
            if workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                workflow.continue_as_new(FicInput(ref=self._ref))
            if self._plan.step is FicStep.FETCH:
                await self._fetch()
                continue
            if self._plan.step is FicStep.TELL:
                await self._tell()
            else:
                place = f"number {self._plan.position} in the queue: " if self._plan.position else ""
                await self._wait(self._plan.wait_seconds, place + self._plan.why)
            await self._make_plan()

    async def _has_second_thoughts(self) -> bool:
        """A `subscribe` or `look_again` may have arrived while the workflow was about to end."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._look_again

    async def _make_plan(self) -> None:
        self._look_again = False
        self._set_plan(
            await workflow.execute_activity_method(
                FicActivities.plan_fic,
                FicPlanInput(key=self._ref.key, now=workflow.now()),
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=policies.BOOKS,
                summary="what comes next",
            )
        )

    async def _wait(self, seconds: float | None, why: str) -> None:
        """Wait for its turn, its site or the next attempt; `look_again` ends the wait early."""
        timeout = None if seconds is None else timedelta(seconds=max(_SHORTEST, seconds))
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._look_again, timeout=timeout, timeout_summary=for_web_ui(why)
            )

    async def _fetch(self) -> None:
        try:
            result = await self._execute_fetch()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await self._after_failure(error)
            return
        if result.plan is not None:
            self._set_plan(result.plan)
            return
        await self._wait(result.wait_seconds, result.why)
        await self._make_plan()

    async def _execute_fetch(self) -> FicStepResult:
        return await workflow.execute_activity_method(
            FicActivities.fetch_fic,
            FicStepInput(key=self._ref.key, round=self._plan.round, now=workflow.now()),
            task_queue=FETCH_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=15),
            # Attempts are counted in the row, and a request is never repeated blindly.
            retry_policy=_ONCE,
            priority=fic_priority(self._ref),
            summary=self._ref.url[:200],
        )

    async def _after_failure(self, error: ActivityError) -> None:
        record = error_record(error)
        plan: FicPlan = await workflow.execute_activity_method(
            FicActivities.record_fic_failure,
            FicFailureInput(key=self._ref.key, round=self._plan.round, error=record, now=workflow.now()),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary=f"failed: {record.error_code}",
        )
        self._set_plan(plan)

    async def _tell(self) -> None:
        """Send messages through users' channels, edit replies on Discord. The plan repeats failed ones."""
        try:
            await self._deliver()
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await self._wait(_TELL_AGAIN_SECONDS, f"telling failed: {error_record(error).error_code}")

    async def _deliver(self) -> None:
        await workflow.execute_activity_method(
            NotifyActivities.deliver_due,
            DeliverInput(job_key=self._ref.key, now=workflow.now()),
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=30),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary=f"messages about {self._ref.url}"[:200],
        )
        await workflow.execute_activity_method(
            DiscordActivities.edit_replies,
            RepliesInput(key=self._ref.key, now=workflow.now()),
            task_queue=DELIVER_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary=f"replies about {self._ref.url}"[:200],
        )

    def _set_plan(self, plan: FicPlan) -> None:
        self._plan = plan
        lines = [
            f"**{self._ref.url}**",
            f"- state: {plan.state}, round {plan.round}",
            f"- next: {plan.step} {for_web_ui(plan.why)}".rstrip(),
        ]
        if plan.position is not None and plan.eta_seconds is not None:
            lines.append(f"- number {plan.position} in the queue, about {plan.eta_seconds:.0f} s")
        workflow.set_current_details("\n".join(lines))


def _served(ticket: _Ticket) -> bool:
    return ticket.view is not None or ticket.failure is not None


def _who(tickets: list[_Ticket]) -> str:
    if len(tickets) == 1:
        return f"{tickets[0].asked.user} asks for it"[:200]
    return f"{len(tickets)} people ask for it"
