"""Workflow code must replay what was recorded (X6): a running workflow survives an upgrade.

`make histories` records anew; do that only together with a patch (`workflow.patched`) or a new workflow type.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer

from fascicle.temporal.correlation import CorrelationInterceptor
from simulator.server import RunningSimulator
from tests.harness import Harness, eventually
from tests.histories.scenarios import SCENARIOS, Histories
from tests.publishing import FAST
from tests.requests import model_settings
from worker import WORKFLOWS
from workflows.unread_activity import OfferUnreadAgain

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.json"))


@pytest.fixture
def overrides(simulator: RunningSimulator) -> dict[str, Any]:
    return FAST | model_settings(simulator, request_concurrency=1, enrich=True)


async def replay(name: str, text: str) -> None:
    replayer = Replayer(
        workflows=list(WORKFLOWS),
        data_converter=pydantic_data_converter,
        interceptors=[CorrelationInterceptor(), OfferUnreadAgain()],  # as a worker has it
    )
    await replayer.replay_workflow(WorkflowHistory.from_json(name, text))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_x6_recorded_histories_replay(path: Path) -> None:
    await replay(path.stem, path.read_text())


def test_x6_every_workflow_has_a_recorded_history() -> None:
    kinds = set()
    for path in RECORDED:
        started = json.loads(path.read_text())["events"][0]["workflowExecutionStartedEventAttributes"]
        kinds.add(started["workflowType"]["name"])
    assert kinds == {workflow.__name__ for workflow in WORKFLOWS}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_x6_what_just_happened_replays(
    stack: Harness, scenario: Callable[[Harness], Awaitable[Histories]], request: pytest.FixtureRequest
) -> None:
    for name, workflow_id in (await scenario(stack)).items():
        handle = stack.client.get_workflow_handle(workflow_id)

        async def closed() -> bool:
            return (await handle.describe()).close_time is not None  # noqa: B023

        await eventually(closed)
        text = (await handle.fetch_history()).to_json()
        await replay(name, text)
        if request.config.getoption("--record"):
            record(name, text)


def record(name: str, text: str) -> None:
    folder = Path(__file__).parent / "recorded"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(without_traces(json.loads(text)), indent=1) + "\n")


def without_traces(value: Any) -> Any:
    """Stack traces name the recorder's folders and play no part in a replay."""
    if isinstance(value, dict):
        return {key: without_traces(inner) for key, inner in value.items() if key != "stackTrace"}
    return [without_traces(inner) for inner in value] if isinstance(value, list) else value
