"""The worked example of docs/upgrading.md, on a real server and in replays (X6)."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker
from temporalio.workflow import NondeterminismError

from activities.operations.dead_letter import AgeOutInput, AgeOutResult
from fascicle.domain.names import new_id
from tests.harness import eventually
from tests.histories.outlines.check import accepted, examine, read_recorded
from tests.histories.outlines.outline import workflows
from tests.histories.outlines.project import Project, our_source
from tests.histories.upgraded_housekeeping import REPORT_FIRST, Deprecated, Guarded, Settled, Unguarded
from workflows.operations.housekeeping import HousekeepingWorkflow

ROOT = Path(__file__).parents[2]


class Broom:
    """Notes which of its activities ran."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @activity.defn
    async def write_report(self) -> None:
        self.done.append("write_report")

    @activity.defn
    async def age_out(self, aged: AgeOutInput) -> AgeOutResult:
        self.done.append("age_out")
        return AgeOutResult()


@asynccontextmanager
async def worker_of(
    client: Client, code: type, queue: str, broom: Broom | None = None
) -> AsyncIterator[None]:
    """With no broom, workflows get as far as their first activity."""
    activities: list[Callable[..., Any]] = [broom.write_report, broom.age_out] if broom else []
    async with Worker(
        client,
        task_queue=queue,
        workflows=[code],
        activities=activities,
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        yield


async def start(client: Client, queue: str) -> WorkflowHandle[object, object]:
    return await client.start_workflow("HousekeepingWorkflow", id=f"upgrade-{new_id()}", task_queue=queue)


async def replay(code: type, history: WorkflowHistory) -> None:
    replayer = Replayer(
        workflows=[code],
        data_converter=pydantic_data_converter,
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    await replayer.replay_workflow(history)


async def history_of(client: Client, code: type) -> WorkflowHistory:
    queue = f"upgrade-{new_id()}"
    async with worker_of(client, code, queue, Broom()):
        handle = await start(client, queue)
        await handle.result()
    return await handle.fetch_history()


async def test_x6_a_run_that_began_before_the_patch_ends_the_old_way_on_the_new_code(client: Client) -> None:
    queue, broom = f"upgrade-{new_id()}", Broom()
    async with worker_of(client, HousekeepingWorkflow, queue):
        old = await start(client, queue)
        await eventually(lambda: _waits_for_age_out(old), what="the first activity")
    # What docs/upgrading.md has people ask before they end the patch's time.
    left = f"WorkflowId='{old.id}' AND ExecutionStatus='Running' AND "
    left += f"(TemporalChangeVersion IS NULL OR TemporalChangeVersion != '{REPORT_FIRST}')"

    async def counted() -> bool:
        return (await client.count_workflows(left)).count == 1

    await eventually(counted, what="the old run in the list")
    async with worker_of(client, Guarded, queue, broom):
        await old.result()
        assert broom.done == ["age_out"]
        new = await start(client, queue)
        await new.result()
    assert broom.done == ["age_out", "write_report", "age_out"]

    async def listed() -> bool:
        patched = f"WorkflowId='{new.id}' AND TemporalChangeVersion = '{REPORT_FIRST}'"
        return (await client.count_workflows(patched)).count == 1

    await eventually(listed, what="the patch among the new run's attributes")


async def _waits_for_age_out(handle: WorkflowHandle[object, object]) -> bool:
    return bool((await handle.describe()).raw_description.pending_activities)


async def test_x6_each_time_of_a_patch_replays_what_may_be_left_of_the_one_before(client: Client) -> None:
    recorded = (ROOT / "tests/histories/recorded/housekeeping.json").read_text()
    before = WorkflowHistory.from_json("before", recorded)
    guarded, deprecated = await history_of(client, Guarded), await history_of(client, Deprecated)
    replays: list[tuple[type, WorkflowHistory]] = [
        (HousekeepingWorkflow, before), (Guarded, before), (Guarded, guarded), (Guarded, deprecated),
        (Deprecated, guarded), (Deprecated, deprecated), (Settled, deprecated),
    ]  # fmt: skip
    breaks: list[tuple[type, WorkflowHistory]] = [
        (Unguarded, before), (Deprecated, before), (Settled, guarded), (HousekeepingWorkflow, guarded),
    ]  # fmt: skip
    for code, history in replays:
        await replay(code, history)
    for code, history in breaks:
        with pytest.raises(NondeterminismError):
            await replay(code, history)


def test_x6_the_check_says_of_the_example_what_its_replays_say() -> None:
    source = (ROOT / "tests/histories/upgraded_housekeeping.py").read_text()
    project = Project(
        lambda name: source if name == "workflows.operations.housekeeping" else our_source(name)
    )
    found = list(workflows(project, ["workflows.operations.housekeeping"]))
    assert {each.name for each in found} == {"HousekeepingWorkflow"}, "as histories have it"
    in_their_order = (Unguarded, Guarded, Deprecated, Settled)
    by_class = dict(zip(in_their_order, found, strict=True))
    recorded = read_recorded()["HousekeepingWorkflow"]
    assert f"guarded by patch {REPORT_FIRST}" in str(examine(by_class[Guarded], recorded).remark)
    assert "+activity write_report" in str(examine(by_class[Unguarded], recorded).complaint)
    first = accepted(by_class[Guarded], recorded).written()
    assert "TemporalChangeVersion" in str(examine(by_class[Deprecated], first).complaint)
    assert "first replace it" in str(examine(by_class[Settled], first).complaint)
    assert "StartTime" in str(
        examine(by_class[Settled], accepted(by_class[Deprecated], first).written()).complaint
    )


def test_x6_the_guide_shows_the_code_that_is_tested() -> None:
    guide = (ROOT / "docs/upgrading.md").read_text()
    for line in (f'if workflow.patched("{REPORT_FIRST}"):', f'workflow.deprecate_patch("{REPORT_FIRST}")'):
        assert line in guide
