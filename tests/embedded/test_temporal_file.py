"""The layout of Temporal's SQLite file: of a new one, and of one that an earlier version made."""

import asyncio
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from fascicle.embedded import EmbeddedTemporal, Supervisor, find_temporal, temporal_file
from fascicle.embedded.temporal_file import KEPT_INDICES, PAGE_SIZE, slim

_ATTRIBUTES = {"Site": "Keyword"}
_INDICES = """
select name from sqlite_master
where type = 'index' and tbl_name = 'executions_visibility' and sql is not null"""


@dataclass(frozen=True)
class Layout:
    page_size: int
    journal: str
    indices: frozenset[str]


SLIM = Layout(PAGE_SIZE, "wal", frozenset(KEPT_INDICES))


def read_layout(database: Path) -> Layout:
    with closing(sqlite3.connect(database)) as file:
        (page_size,) = file.execute("pragma page_size").fetchone()
        (journal,) = file.execute("pragma journal_mode").fetchone()
        assert file.execute("pragma integrity_check").fetchone() == ("ok",)
        return Layout(page_size, journal, frozenset(name for (name,) in file.execute(_INDICES)))


def temporal_cli(temporal: EmbeddedTemporal, *arguments: str) -> str:
    command = [find_temporal(), *arguments, "--address", temporal.address]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def start_workflow(temporal: EmbeddedTemporal, workflow_id: str) -> None:
    start = ("workflow", "start", "--workflow-id", workflow_id, "--type", "Nothing", "--task-queue", "nobody")
    temporal_cli(temporal, *start, "--search-attribute", 'Site="mangadex"')


def found(temporal: EmbeddedTemporal, query: str) -> bool:
    return "kept" in temporal_cli(temporal, "workflow", "list", "-q", query)


async def until_found(temporal: EmbeddedTemporal, query: str) -> None:
    async with asyncio.timeout(10):
        while not await asyncio.to_thread(found, temporal, query):
            await asyncio.sleep(0.05)


@pytest.fixture
async def plain_file(tmp_path: Path) -> Path:
    """A file as the server makes it by itself, with one workflow in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fascicle.embedded.temporal.slim", lambda database: None)
        async with Supervisor(tmp_path) as supervisor:
            temporal = EmbeddedTemporal(tmp_path, 0, 0, _ATTRIBUTES)
            await temporal.start(supervisor)
            await asyncio.to_thread(start_workflow, temporal, "kept")
            await until_found(temporal, "WorkflowId='kept'")
    database = tmp_path / "temporal.db"
    assert read_layout(database).page_size == 4096
    return database


async def test_a_new_file_has_small_pages_and_few_indices(tmp_path: Path) -> None:
    async with Supervisor(tmp_path) as supervisor:
        await EmbeddedTemporal(tmp_path, 0, 0).start(supervisor)
    assert read_layout(tmp_path / "temporal.db") == SLIM


async def test_an_old_file_gets_the_same_layout_and_keeps_its_workflows(plain_file: Path) -> None:
    async with Supervisor(plain_file.parent) as supervisor:
        temporal = EmbeddedTemporal(plain_file.parent, 0, 0, _ATTRIBUTES)
        await temporal.start(supervisor)
        for query in ("WorkflowId='kept'", "TaskQueue='nobody' AND Site='mangadex'"):
            assert await asyncio.to_thread(found, temporal, query)
    assert read_layout(plain_file) == SLIM


async def test_a_large_old_file_is_not_rewritten(plain_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporal_file, "_LARGEST_TO_REWRITE", 1)
    async with Supervisor(plain_file.parent) as supervisor:
        temporal = EmbeddedTemporal(plain_file.parent, 0, 0, _ATTRIBUTES)
        await temporal.start(supervisor)
        assert await asyncio.to_thread(found, temporal, "Site='mangadex'")
    assert read_layout(plain_file) == Layout(4096, "wal", frozenset(KEPT_INDICES))


async def test_a_file_in_use_stays_as_it_is(plain_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporal_file, "_LOCK_SECONDS", 0.1)
    before = read_layout(plain_file)
    with closing(sqlite3.connect(plain_file)) as other:
        other.execute("begin immediate")
        slim(plain_file)
    assert read_layout(plain_file) == before


async def test_a_file_that_is_damaged_is_left_to_the_server_to_report(tmp_path: Path) -> None:
    damaged = tmp_path / "temporal.db"
    damaged.write_bytes(b"SQLite format 3\0" + b"damaged" * 1000)
    before = damaged.read_bytes()
    slim(damaged)
    assert damaged.read_bytes() == before


async def test_killed_under_load_a_file_is_whole_and_has_every_workflow(tmp_path: Path) -> None:
    async with Supervisor(tmp_path) as supervisor:
        temporal = EmbeddedTemporal(tmp_path, 0, 0, _ATTRIBUTES)
        await temporal.start(supervisor)
        starts = (asyncio.to_thread(start_workflow, temporal, f"kept-{number}") for number in range(12))
        started = asyncio.gather(*starts, return_exceptions=True)
        await asyncio.sleep(0.3)
        os.kill(supervisor.pids["temporal"], signal.SIGKILL)
        answers = await started
    async with Supervisor(tmp_path) as supervisor:
        temporal = EmbeddedTemporal(tmp_path, 0, 0, _ATTRIBUTES)
        await temporal.start(supervisor)
        for number, answer in enumerate(answers):
            if answer is None:
                await asyncio.to_thread(
                    temporal_cli, temporal, "workflow", "describe", "-w", f"kept-{number}"
                )
    assert read_layout(tmp_path / "temporal.db") == SLIM
