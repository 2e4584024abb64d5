"""`fascicle schedule …`: the periodic work, how its last runs went and when it runs next."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import typer

from fascicle.domain.names import SCHEDULES
from starter.context import command, reading, temporal_client
from starter.options import AsJson
from starter.output import print_json, print_table

if TYPE_CHECKING:
    from temporalio.client import Client, ScheduleDescription

app = typer.Typer(help="The periodic work.", no_args_is_help=True)

_COLUMNS = (
    "name", "workflow", "every", "paused", "last_run_at", "last_status", "last_result", "next_run_at",
    "running",
)  # fmt: skip
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@app.command("list")
@command
async def list_schedules(as_json: AsJson = False) -> None:
    """All schedules: what they start and how often, the last run and the next."""

    async with reading() as dependencies:
        client = await temporal_client(dependencies)
        rows = [row for name in SCHEDULES if (row := await describe(client, name))]
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, map(_for_people, rows), empty="No schedules yet: run `fascicle setup`.")


async def describe(client: "Client", name: str) -> dict[str, Any] | None:
    """The facts of a schedule; None if it was not created yet."""
    from temporalio.service import RPCError, RPCStatusCode

    from starter.temporal_words import is_about_namespace

    try:
        found = await client.get_schedule_handle(name).describe()
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND and not is_about_namespace(error):
            return None
        raise
    return {**_plan(name, found), **await _last_run(client, found)}


def _plan(name: str, found: "ScheduleDescription") -> dict[str, Any]:
    from temporalio.client import ScheduleActionStartWorkflow

    action, state, info = found.schedule.action, found.schedule.state, found.info
    assert isinstance(action, ScheduleActionStartWorkflow)
    every = sum((interval.every for interval in found.schedule.spec.intervals), timedelta())
    upcoming = None if state.paused or not info.next_action_times else info.next_action_times[0]
    return {
        "name": name,
        "workflow": action.workflow,
        "every_seconds": every.total_seconds(),
        "paused": state.paused,
        "note": state.note,
        "next_run_at": upcoming,
        "running": len(info.running_actions),
    }


async def _last_run(client: "Client", found: "ScheduleDescription") -> dict[str, Any]:
    from temporalio.client import ScheduleActionExecutionStartWorkflow, WorkflowExecutionStatus
    from temporalio.service import RPCError, RPCStatusCode

    if not found.info.recent_actions:
        return {"last_run_at": None, "last_status": None, "last_result": None}
    latest = found.info.recent_actions[-1]
    assert isinstance(latest.action, ScheduleActionExecutionStartWorkflow)
    execution = latest.action
    handle = client.get_workflow_handle(execution.workflow_id, run_id=execution.first_execution_run_id)
    status, result = "forgotten", None
    try:
        description = await handle.describe()
        status = description.status.name.lower() if description.status else "unknown"
        if description.status is WorkflowExecutionStatus.COMPLETED:
            result = await handle.result()
    except RPCError as error:
        # Temporal keeps runs only for some days.
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
    return {"last_run_at": latest.started_at, "last_status": status, "last_result": result}


def _for_people(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "every": in_words(row["every_seconds"]),
        "paused": "paused" if row["paused"] else "",
        "last_result": _in_short(row["last_result"]),
        "running": "yes" if row["running"] else "",
    }


def in_words(seconds: float) -> str:
    """The length in the largest unit that gives a whole number."""
    for length, unit in _UNITS:
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:g} s"


def _in_short(result: Any) -> str:
    """Only the non-zero counts; a list counts as its length."""
    if not isinstance(result, Mapping):
        return ""
    counts = {name: len(value) if isinstance(value, list) else value for name, value in result.items()}
    return ", ".join(f"{name} {value}" for name, value in counts.items() if value) or "nothing to do"
