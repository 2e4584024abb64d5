"""The drill: the database is lost and an older backup restored; Temporal remembers what came after (X1)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from temporalio.client import Client

from fascicle.domain.errors import PermanentError
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.embedded import EmbeddedPostgres
from fascicle.embedded.postgres import programs
from fascicle.jobs.publishing import post_job
from fascicle.sandbox import Sandbox
from fascicle.services.operations.missing_workflows import rebuild
from fascicle.services.operations.postgres_programs import PostgresPrograms
from fascicle.storage.database import check_schema, transaction
from fascicle.storage.operations.restored import Doubts, doubt_what_may_have_happened
from fascicle.storage.publishing import post as posts
from fascicle.temporal.workflow_start import start_job
from simulator.server import RunningSimulator
from starter.operations.backup import bring_back, dump
from starter.operations.database_places import Place
from tests import publishing
from tests.harness import Harness, eventually, open_harness, settings_for
from workflows.series.source import REFUSED_STARTS_BEFORE_BATCH


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"drain_seconds": 0.1, **publishing.FAST}


@pytest.fixture
async def empty_url(postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """A database without a table, as one is made in the place of a lost one."""
    name = f"restored_{new_id()}"
    server = postgres.url.replace("postgresql+asyncpg", "postgresql")
    connection = await asyncpg.connect(server)
    await connection.execute(f"create database {name}")
    yield postgres.url.replace("/fascicle?", f"/{name}?")
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


@dataclass(frozen=True)
class Before:
    """What there was when the backup was made."""

    series: Any
    source: dict[str, Any]
    file: Path
    post: str = ""


def place_of(stack: Harness) -> Place:
    url = stack.dependencies.settings.database_url
    assert url is not None
    bundled = PostgresPrograms(url.get_secret_value(), programs())
    return Place(stack.dependencies.engine, bundled, "the test's", is_embedded=True)


async def _back_up(harness: Harness, file: Path, *, with_post: bool = False) -> Before:
    """A source; and a post that is due, and that nobody has published yet."""
    series = harness.series(chapters=3)
    async with harness.workers():
        source = await harness.add_and_sync(series)
    await harness.follow("ann", source["series_id"])
    post = ""
    if with_post:
        post = await publishing.scheduled(harness, await publishing.connect_account(harness, "Cleo"), "Ink")
    held = await dump(place_of(harness), file)
    assert (held.rows["chapters"], held.rows["posts"]) == (3, int(with_post))
    return Before(series, source, file, post)


async def _tell_of_a_chapter(stack: Harness, before: Before) -> None:
    stack.release(before.series)
    await stack.poll(before.source)
    await stack.all_quiet()


@pytest.fixture
async def elsewhere(
    empty_url: str,
    client: Client,
    simulator: RunningSimulator,
    overrides: dict[str, Any],
    sandbox: Sandbox,
    tmp_path: Path,
) -> AsyncIterator[Harness]:
    """The empty database, with the same Temporal, which remembers the lost time."""
    settings = settings_for(empty_url, simulator, files_dir=tmp_path / "files", **overrides)
    async with open_harness(settings, client, simulator, sandbox) as opened:
        yield opened


async def _restore(elsewhere: Harness, before: Before, *, silent: bool) -> Doubts:
    await bring_back(place_of(elsewhere), before.file, replace=False)
    with pytest.raises(PermanentError, match="fascicle db restored"):  # whoever dies here leaves that behind
        await check_schema(elsewhere.dependencies.engine)
    async with transaction(elsewhere.dependencies.engine) as connection:
        doubts = await doubt_what_may_have_happened(connection, silent=silent)
    await check_schema(elsewhere.dependencies.engine)
    return doubts


def told(stack: Harness) -> list[str]:
    return [message.title for message in stack.simulator.sink.messages("ann")]


async def test_x1_after_a_silent_restore_nothing_happens_twice_and_work_goes_on(
    harness: Harness, elsewhere: Harness, tmp_path: Path
) -> None:
    before = await _back_up(harness, tmp_path / "backup", with_post=True)
    async with harness.workers():
        await _tell_of_a_chapter(harness, before)
        assert await publishing.until_over(harness, before.post) == "published"
        ghost = await harness.add_and_sync(harness.series(title="Afterwards"))

    doubts = await _restore(elsewhere, before, silent=True)

    assert [post["id"] for post in doubts.posts] == [before.post]
    assert not sum((await rebuild(elsewhere.dependencies, elsewhere.client)).values())
    async with elsewhere.workers():
        await elsewhere.client.execute_workflow("ReconcileWorkflow", id=new_id(), task_queue=MAIN_QUEUE)
        await eventually(lambda: elsewhere.source_value(before.source["id"], "first_synced_at"))
        assert await elsewhere.chapter_count() == 4, "the lost chapter is back"
        await _nothing_is_published_twice(elsewhere, before)
        await elsewhere.workflow(ghost).signal("poll_now")
        await elsewhere.workflow(ghost).result()  # its row is gone, so it ends
        await _tell_of_a_chapter(elsewhere, before)
    assert told(elsewhere) == ["Lanterns: Chapter 4", "Lanterns: Chapter 5"]


async def test_x1_else_chapters_whose_ids_temporal_refuses_are_stored_in_a_batch_and_told_again(
    harness: Harness, elsewhere: Harness, tmp_path: Path
) -> None:
    before = await _back_up(harness, tmp_path / "backup")
    async with harness.workers():
        await _tell_of_a_chapter(harness, before)

    await _restore(elsewhere, before, silent=False)

    async with elsewhere.workers():
        for _ in range(REFUSED_STARTS_BEFORE_BATCH):
            assert await elsewhere.chapter_count() == 3
            await elsewhere.poll(before.source)
        assert await elsewhere.chapter_count() == 4
        await elsewhere.messages(2)
    assert told(elsewhere) == ["Lanterns: Chapter 4"] * 2


async def _nothing_is_published_twice(restored: Harness, before: Before) -> None:
    async def look() -> None:
        account = await restored.value("select account_id from post where id = :id", id=before.post)
        await start_job(restored.client, post_job(before.post, title="Ink", account_id=account))

    await look()
    assert await publishing.until_over(restored, before.post) == "unconfirmed"
    async with transaction(restored.dependencies.engine) as connection:
        await posts.resolve_published(connection, before.post, "https://example.org/ink")
    await look()
    assert await publishing.until_over(restored, before.post) == "published"
    assert publishing.published_titles(restored) == ["Ink"]
    assert (await publishing.story(restored, before.post))[-4:] == [
        "unconfirmed", "resolved", "file_published", "published",
    ]  # fmt: skip
