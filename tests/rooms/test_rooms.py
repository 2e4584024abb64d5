"""The floor plan (docs/architecture.md): all layers use the same words; a folder holds what its name says."""

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = {"series", "feeds", "fics", "summaries", "publishing", "notifications", "operations"}
LAYERS = ("fascicle/domain", "fascicle/storage", "fascicle/services", "activities", "workflows", "starter")
# Folders of a layer that are no capability.
NO_WORDS = {"fascicle/storage": {"migrations"}, "starter": {"stack"}}
MOST_FILES = 20
PRODUCT = ("activities", "fascicle", "starter", "workflows")


def _modules(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("layer", LAYERS)
def test_folders_of_a_layer_are_the_seven_words(layer: str) -> None:
    folders = {path.name for path in (ROOT / layer).iterdir() if (path / "__init__.py").exists()}
    assert folders - NO_WORDS.get(layer, set()) <= WORDS


def test_no_folder_is_too_full_to_look_through() -> None:
    files = Counter(path.parent.relative_to(ROOT) for folder in PRODUCT for path in _modules(folder))
    assert {str(folder): count for folder, count in files.items() if count > MOST_FILES} == {}


def test_activities_hold_nothing_but_activities() -> None:
    without = [
        str(path.relative_to(ROOT))
        for path in _modules("activities")
        if path.parent.name in WORDS and not _has_activity(ast.parse(path.read_text()))
    ]
    assert without == []


def test_a_workflow_is_started_in_two_places_only() -> None:
    """Others hand a job to `start_job` or `start_child`: what a start needs stands in fascicle/jobs."""
    calls = {"start_workflow", "start_child_workflow", "execute_child_workflow", "execute_workflow"}
    found = {
        str(path.relative_to(ROOT))
        for folder in PRODUCT
        for path in _modules(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in calls
    }
    # The interceptor passes starts on.
    assert found - {"fascicle/temporal/correlation.py"} == {
        "fascicle/temporal/workflow_start.py",
        "workflows/children.py",
    }


def _has_activity(tree: ast.Module) -> bool:
    decorators = (
        decorator
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
        for decorator in node.decorator_list
    )
    return any("activity.defn" in ast.unparse(decorator) for decorator in decorators)
