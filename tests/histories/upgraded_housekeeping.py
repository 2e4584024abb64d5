"""The worked example of docs/upgrading.md: housekeeping is to write a report before it puts letters away.

Each class is what the file `workflows/operations/housekeeping.py` would hold at one time of the patch's life.
"""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from activities.operations.dead_letter import AgeOutInput, AgeOutResult, DeadLetterActivities
    from workflows import policies

REPORT_FIRST = "report-before-housekeeping"
_MINUTE = timedelta(minutes=1)


async def _write_report() -> None:
    await workflow.execute_activity("write_report", start_to_close_timeout=_MINUTE)


async def _age_out() -> AgeOutResult:
    return await workflow.execute_activity_method(
        DeadLetterActivities.age_out,
        AgeOutInput(now=workflow.now()),
        start_to_close_timeout=_MINUTE,
        retry_policy=policies.BOOKS,
    )


@workflow.defn(name="HousekeepingWorkflow")
class Unguarded:
    """Wrong: a run that began before it has no report where this code expects one."""

    @workflow.run
    async def run(self) -> AgeOutResult:
        await _write_report()
        return await _age_out()


@workflow.defn(name="HousekeepingWorkflow")
class Guarded:
    """First: old runs go the old way, new ones the new way."""

    @workflow.run
    async def run(self) -> AgeOutResult:
        if workflow.patched("report-before-housekeeping"):
            await _write_report()
        return await _age_out()


@workflow.defn(name="HousekeepingWorkflow")
class Deprecated:
    """Second, when no run is left that began before the patch."""

    @workflow.run
    async def run(self) -> AgeOutResult:
        workflow.deprecate_patch("report-before-housekeeping")
        await _write_report()
        return await _age_out()


@workflow.defn(name="HousekeepingWorkflow")
class Settled:
    """Third, when no run is left that began before `deprecate_patch`."""

    @workflow.run
    async def run(self) -> AgeOutResult:
        await _write_report()
        return await _age_out()
