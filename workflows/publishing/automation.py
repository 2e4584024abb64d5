"""AutomationWorkflow: started by a Schedule; publishes drafts when a rule says so (P7)."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.publishing.automation import (
        AutomationActivities,
        FireInput,
        FireResult,
        LookAfterInput,
        ScheduledPost,
    )
    from workflows import policies


@workflow.defn
class AutomationWorkflow:
    @workflow.run
    async def run(self) -> FireResult:
        fired = await self._fire()
        if fired.scheduled:
            await self._look_after(fired.scheduled)
        return fired

    async def _fire(self) -> FireResult:
        return await workflow.execute_activity_method(
            AutomationActivities.fire_automations,
            FireInput(now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary="automations whose time has come",
        )

    async def _look_after(self, posts: list[ScheduledPost]) -> None:
        await workflow.execute_activity_method(
            AutomationActivities.look_after_posts,
            LookAfterInput(posts=posts),
            start_to_close_timeout=timedelta(minutes=10),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.NOTIFY,
            summary=f"{len(posts)} scheduled",
        )
