"""A run that knows which code started it needs no markers of patches, and replays with them, too (X6)."""

import base64
import json
from typing import Any

import pytest
from temporalio import workflow

import workflows.series.source_look as source_look
from fascicle.domain.names import BORN_PATCHED
from tests.harness import Harness
from tests.histories.scenarios import a_chapter_from_upstream_to_followers
from tests.histories.test_replay import replay
from workflows import patches

KINDS = ("source_first_sync_and_new_chapter", "ingest_new_chapter")


@pytest.fixture
def an_earlier_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that know no numbers: they mark each patch."""

    def always_asks(patch: str, code: int) -> bool:
        return workflow.patched(patch)

    monkeypatch.setattr(patches, "is_patched", always_asks)
    monkeypatch.setattr(source_look, "is_patched", always_asks)


async def histories(stack: Harness) -> dict[str, str]:
    ids = await a_chapter_from_upstream_to_followers(stack)
    return {
        name: (await stack.client.get_workflow_handle(ids[name]).fetch_history()).to_json() for name in KINDS
    }


def events(history: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in json.loads(history)["events"] if event["eventType"] == kind]


def marked(history: str) -> set[str]:
    """The patches that have a marker of their own, by the search attribute beside it."""
    upserts = events(history, "EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES")
    return {patch for patch in BORN_PATCHED for event in upserts if patch in json.dumps(_decoded(event))}


def _decoded(event: dict[str, Any]) -> list[str]:
    fields = event["upsertWorkflowSearchAttributesEventAttributes"]["searchAttributes"]["indexedFields"]
    return [base64.b64decode(value["data"]).decode() for value in fields.values()]


async def test_x6_a_run_born_with_the_patches_has_no_markers(stack: Harness) -> None:
    for history in (await histories(stack)).values():
        assert marked(history) == set()


@pytest.mark.usefixtures("an_earlier_version")
async def test_x6_a_marker_of_an_earlier_worker_replays(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = await histories(stack)
    assert all(marked(history) for history in written.values())
    monkeypatch.undo()
    for name, history in written.items():
        await replay(name, history)
