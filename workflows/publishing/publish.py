"""PublishPostWorkflow: waits for the hour, uploads, publishes, and looks for lost publications (P2, P3).

The post's row says what comes next; the workflow decides only when.
"""

import asyncio
import contextlib
from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.publishing.post import ChangeInput, FailureInput, FailureResult, PostActivities
    from activities.publishing.publish import PublishActivities, StepInput, StepResult
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import PUBLISH_QUEUE
    from fascicle.domain.publishing.post_plan import Plan, PlanInput
    from fascicle.domain.publishing.publication import Step
    from fascicle.jobs.publishing import PublishInput
    from workflows import policies
    from workflows.failures import error_record

_ONCE = RetryPolicy(maximum_attempts=1)
_MARGIN = timedelta(minutes=1)
_STEPS = {
    Step.CHECK: (PublishActivities.check_account, "is {title} fit, does {account}'s token work"),
    Step.UPLOAD: (PublishActivities.upload_file, "{title}: {file} to Sta.sh"),
    Step.BASELINE: (PublishActivities.take_baseline, "{title}: what {account}'s gallery holds before"),
    Step.PUBLISH: (PublishActivities.publish_file, "{title}: publish {file}"),
    Step.LOOK: (PublishActivities.look_for_file, "{title}: is {file} in {account}'s gallery after all"),
}


class PublishResult(BaseModel):
    state: str
    urls: list[str] = []


@workflow.defn
class PublishPostWorkflow:
    @workflow.init
    def __init__(self, publish: PublishInput) -> None:
        self._post_id = publish.post_id
        self._plan = Plan(step=Step.WAIT, state="?")
        self._look_again = False
        self._checked = publish.checked
        self._looks = publish.looks

    @workflow.run
    async def run(self, publish: PublishInput) -> PublishResult:
        if publish.retry:
            await self._change("retry")
        try:
            await self._until_over()
            while await self._has_second_thoughts():
                await self._until_over()
        except (asyncio.CancelledError, ActivityError) as error:
            if not is_cancelled_exception(error):
                raise
            await self._cancelled_from_outside()
            raise
        return PublishResult(state=self._plan.state, urls=self._plan.urls)

    @workflow.signal
    def look_again(self) -> None:
        """Plan again: the row, the account or the turn may have changed."""
        self._look_again = True

    @workflow.update
    async def reschedule(self, time: str) -> str:
        return await self._change("reschedule", time)

    @workflow.update
    async def cancel(self) -> str:
        return await self._change("cancel")

    @workflow.update
    async def publish_now(self) -> str:
        return await self._change("publish_now")

    @workflow.query
    def plan(self) -> Plan:
        return self._plan

    async def _until_over(self) -> None:
        await self._make_plan()
        while self._plan.step is not Step.OVER:
            if workflow.info().is_continue_as_new_suggested():
                await workflow.wait_condition(workflow.all_handlers_finished)
                workflow.continue_as_new(
                    PublishInput(post_id=self._post_id, looks=self._looks, checked=self._checked)
                )
            if self._plan.step is Step.WAIT:
                await self._wait()
                await self._make_plan()
            else:
                await self._take_step()

    async def _has_second_thoughts(self) -> bool:
        """The row may have changed while the workflow was about to end."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        return self._look_again

    async def _make_plan(self) -> None:
        self._look_again = False
        self._set_plan(
            await workflow.execute_activity_method(
                PostActivities.plan_post,
                PlanInput(post_id=self._post_id, now=workflow.now(), checked=self._checked),
                start_to_close_timeout=timedelta(seconds=30),
                retry_policy=policies.BOOKS,
                summary="what comes next",
            )
        )

    async def _wait(self) -> None:
        """Wait for its time, its turn or its account; `look_again` ends the wait early."""
        plan = self._plan
        timeout = None if plan.wait_seconds is None else timedelta(seconds=max(0.05, plan.wait_seconds))
        with contextlib.suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self._look_again,
                timeout=timeout,
                timeout_summary=for_web_ui(f"{plan.title}: {plan.why}"),
            )

    async def _take_step(self) -> None:
        plan = self._plan
        if plan.step is Step.LOOK:
            await self._wait_before_look(plan)
        try:
            result = await self._execute(plan)
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await self._after_failure(error)
            return
        if result.wait_seconds is not None:
            await workflow.sleep(
                timedelta(seconds=max(0.05, result.wait_seconds)),
                summary=for_web_ui(f"{plan.title}: {result.why}"),
            )
            await self._make_plan()
            return
        self._checked = True
        self._looks = self._looks + 1 if plan.step is Step.LOOK else 0
        assert result.plan is not None
        self._set_plan(result.plan)

    async def _execute(self, plan: Plan) -> StepResult:
        step, summary = _STEPS[plan.step]
        return await workflow.execute_activity_method(
            step,
            StepInput(
                post_id=self._post_id,
                now=workflow.now(),
                file_id=plan.file_id,
                call=plan.call,
                last_look=self._looks + 1 >= len(plan.looks),
            ),
            task_queue=PUBLISH_QUEUE,
            # A call may be repeated once with another token; the margin is for the gate and the database.
            start_to_close_timeout=2 * timedelta(seconds=plan.timeout_seconds) + _MARGIN,
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=_ONCE,
            priority=Priority(priority_key=2, fairness_key=plan.account_id),
            summary=for_web_ui(summary.format(title=plan.title, file=plan.file_label, account=plan.account)),
        )

    async def _wait_before_look(self, plan: Plan) -> None:
        """Give the gallery time to list the file; the time since the intent counts towards the first wait."""
        if self._looks >= len(plan.looks):
            return
        seconds = plan.looks[self._looks]
        if self._looks == 0 and plan.intent_at is not None:
            seconds -= (workflow.now() - plan.intent_at).total_seconds()
        if seconds > 0:
            await workflow.sleep(
                timedelta(seconds=min(seconds, plan.looks[self._looks])),
                summary=for_web_ui(f"{plan.title}: before looking whether it was published after all"),
            )

    async def _after_failure(self, error: ActivityError) -> None:
        record = error_record(error)
        failed: FailureResult = await workflow.execute_activity_method(
            PostActivities.record_attempt,
            FailureInput(post_id=self._post_id, error=record),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.BOOKS,
            summary=f"failed: {record.error_code}",
        )
        if failed.retry_seconds is not None:
            why = f"attempt {failed.attempt} of {failed.of} failed ({record.error_code}), before the next"
            await workflow.sleep(
                timedelta(seconds=failed.retry_seconds), summary=for_web_ui(f"{self._plan.title}: {why}")
            )
        await self._make_plan()

    async def _change(self, change: str, time: str | None = None) -> str:
        state: str = await workflow.execute_activity_method(
            PostActivities.change_post,
            ChangeInput.model_validate(
                {"post_id": self._post_id, "change": change, "time": time, "now": workflow.now()}
            ),
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=policies.POLL,
            summary=change,
        )
        self._look_again = True
        return state

    async def _cancelled_from_outside(self) -> None:
        """Cancelling the workflow cancels its post, unless the post is being published at this moment."""
        with contextlib.suppress(ActivityError):
            await asyncio.shield(self._change("cancel"))

    def _set_plan(self, plan: Plan) -> None:
        self._plan = plan
        lines = [
            f"**{for_web_ui(plan.title)}** for {for_web_ui(plan.account)}",
            f"- state: {plan.state}",
            f"- next: {plan.step} {for_web_ui(plan.file_label)}".rstrip()
            + (f" {for_web_ui(plan.why)}" if plan.why else ""),
            f"- failed attempts: {plan.attempts}",
            *(f"- {url}" for url in plan.urls),
        ]
        workflow.set_current_details("\n".join(lines))
