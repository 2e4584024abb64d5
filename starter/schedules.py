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

from fascicle.domain.names import DIGEST_SCHEDULE, HOUSEKEEPING_SCHEDULE, MAIN_QUEUE
from fascicle.runtime.settings import Settings


async def ensure_schedules(client: Client, settings: Settings) -> None:
    every = timedelta(seconds=settings.digest_every_seconds)
    await _ensure(client, DIGEST_SCHEDULE, _schedule("DigestWorkflow", DIGEST_SCHEDULE, every))
    daily = _schedule("HousekeepingWorkflow", HOUSEKEEPING_SCHEDULE, timedelta(days=1))
    await _ensure(client, HOUSEKEEPING_SCHEDULE, daily)


async def _ensure(client: Client, name: str, schedule: Schedule) -> None:
    try:
        await client.create_schedule(name, schedule)
    except ScheduleAlreadyRunningError:
        await client.get_schedule_handle(name).update(lambda given: _updated(given, schedule))


def _updated(given: ScheduleUpdateInput, wanted: Schedule) -> ScheduleUpdate | None:
    """What runs and how often is ours; whether it is paused is the operator's. None: nothing to change."""
    current = given.description.schedule
    if current.spec.intervals == wanted.spec.intervals:
        return None
    current.spec, current.action, current.policy = wanted.spec, wanted.action, wanted.policy
    return ScheduleUpdate(schedule=current)


def _schedule(workflow: str, name: str, every: timedelta) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(workflow, id=name, task_queue=MAIN_QUEUE),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)]),
        # Whatever was missed is found by the next run: there is nothing to catch up with.
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=timedelta(minutes=1)),
    )
