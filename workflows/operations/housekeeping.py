"""HousekeepingWorkflow: started by a Schedule once a day; ages out old dead letters, jobs, runs and items."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.operations.dead_letter import AgeOutInput, AgeOutResult, DeadLetterActivities
    from workflows import policies


@workflow.defn
class HousekeepingWorkflow:
    @workflow.run
    async def run(self) -> AgeOutResult:
        return await workflow.execute_activity_method(
            DeadLetterActivities.age_out,
            AgeOutInput(now=workflow.now()),
            start_to_close_timeout=timedelta(minutes=10),
            retry_policy=policies.BOOKS,
            summary="old dead letters",
        )
