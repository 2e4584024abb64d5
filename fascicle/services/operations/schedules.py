"""The periodic work, as Temporal Schedules: created or brought up to date by `up` and `setup`."""

from datetime import timedelta

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)

from fascicle.domain.names import (
    AUTOMATION_SCHEDULE,
    CLEANUP_SCHEDULE,
    DIGEST_SCHEDULE,
    HOUSEKEEPING_SCHEDULE,
    MAIN_QUEUE,
    RECONCILE_SCHEDULE,
    TOKEN_SCHEDULE,
)
from fascicle.settings.settings import Settings


async def ensure_schedules(client: Client, settings: Settings) -> None:
    wanted = {
        DIGEST_SCHEDULE: ("DigestWorkflow", timedelta(seconds=settings.digest_every_seconds)),
        RECONCILE_SCHEDULE: ("ReconcileWorkflow", timedelta(seconds=settings.reconcile_every_seconds)),
        TOKEN_SCHEDULE: (
            "TokenMaintenanceWorkflow",
            timedelta(seconds=settings.token_maintenance_seconds),
        ),
        AUTOMATION_SCHEDULE: ("AutomationWorkflow", timedelta(seconds=settings.automation_every_seconds)),
        HOUSEKEEPING_SCHEDULE: ("HousekeepingWorkflow", timedelta(days=1)),
        CLEANUP_SCHEDULE: ("StorageCleanupWorkflow", timedelta(days=1)),
    }
    for name, (workflow, every) in wanted.items():
        await _ensure(client, name, _schedule(workflow, name, every))


async def _ensure(client: Client, name: str, schedule: Schedule) -> None:
    try:
        await client.create_schedule(name, schedule)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(name).update(lambda given: _updated(given, schedule))


def _updated(given: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate | None:
    """Updates the workflow and its interval; a pause by the operator stays. None: nothing to change."""
    current = given.description.schedule
    if _essence(current) == _essence(wanted):
        return None
    current.spec, current.action, current.policy = wanted.spec, wanted.action, wanted.policy
    return ScheduleUpdate(schedule=current)


def _essence(schedule: Schedule) -> tuple[object, ...]:
    action = schedule.action
    assert isinstance(action, ScheduleActionStartWorkflow)
    return action.workflow, action.task_queue, schedule.spec.intervals, schedule.policy.overlap


def _schedule(workflow: str, name: str, every: timedelta) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, id=name, task_queue=MAIN_QUEUE),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        # The next run finds all work that a missed run would have done, so do not catch up.
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=timedelta(minutes=1)),
    )
