"""Storage cleanup (P8): what was deleted long enough ago goes, what anybody needs stays."""

from typing import Any

import pytest

from activities.publishing import storage_cleanup
from fascicle.domain.names import MAIN_QUEUE, new_id
from fascicle.storage.publishing import post_files
from simulator.faults import Fault
from tests.harness import Harness
from workflows.publishing.storage_cleanup import CleanupResult, StorageCleanupWorkflow

OLD, LATELY = "now() - interval '8 days'", "now() - interval '6 days'"


@pytest.fixture
def overrides(simulator: Any) -> dict[str, Any]:
    return {
        "s3_bucket": "art",
        "s3_endpoint": f"{simulator.url}/s3",
        "s3_access_key_id": "id",
        "s3_secret_access_key": "secret",
    }


async def add_file(
    stack: Harness, key: str, *, deleted: str = "null", stored: str = "now()", post_age: str = "now()"
) -> int:
    await stack.execute(
        "insert into account (id, site_user_id, name) values ('ann', 'u', 'ann') on conflict do nothing"
    )
    post_id = new_id()
    await stack.execute(
        f"insert into post (id, account_id, title, created_at, updated_at) "
        f"values (:id, 'ann', 't', {post_age}, {post_age})",
        id=post_id,
    )
    stack.simulator.objects.stored[f"art/{key}"] = b"pixels"
    file_id = await stack.value(
        f"insert into post_file (post_id, object_key, file_name, deleted_at, stored_at) "
        f"values (:post_id, :key, 'f', {deleted}, {stored}) returning id",
        post_id=post_id,
        key=key,
    )
    return int(file_id)


async def clean_up(stack: Harness) -> CleanupResult:
    return await stack.client.execute_workflow(
        StorageCleanupWorkflow.run, id=f"storage-cleanup-{new_id()}", task_queue=MAIN_QUEUE
    )


async def left(stack: Harness) -> tuple[list[str], list[str]]:
    """Keys that rows name, and keys that the store holds."""
    rows = await stack.rows("select object_key from post_file order by id")
    objects = [key.removeprefix("art/") for key in stack.simulator.objects.stored]
    return [row["object_key"] for row in rows], sorted(objects)


async def test_p8_only_what_was_deleted_long_ago_is_removed(stack: Harness) -> None:
    await add_file(stack, "live")
    await add_file(stack, "old", deleted=OLD)
    await add_file(stack, "lately", deleted=LATELY)
    await add_file(stack, "broken-off", stored="null", post_age=OLD)
    await add_file(stack, "under-way", stored="null", post_age=LATELY)
    await add_file(stack, "../impossible", deleted=OLD)
    gone = await add_file(stack, "gone-already", deleted=OLD)
    del stack.simulator.objects.stored["art/gone-already"]
    assert gone
    assert await clean_up(stack) == CleanupResult(removed=4)
    kept = ["live", "lately", "under-way"]
    rows, objects = await left(stack)
    assert rows == kept
    assert objects == sorted([*kept, "../impossible"])
    assert await clean_up(stack) == CleanupResult()


@pytest.mark.parametrize("other", ["null", LATELY])
async def test_p8_an_object_that_another_file_needs_stays(stack: Harness, other: str) -> None:
    await add_file(stack, "shared", deleted=OLD)
    needed = await add_file(stack, "shared", deleted=other)
    assert await clean_up(stack) == CleanupResult(shared=1)
    assert await left(stack) == (["shared"], ["shared"])
    await stack.execute(f"update post_file set deleted_at = {OLD} where id = :id", id=needed)
    assert await clean_up(stack) == CleanupResult(removed=1)
    assert await left(stack) == ([], [])


async def test_p8_two_files_of_one_object_go_together(stack: Harness) -> None:
    for _ in range(2):
        await add_file(stack, "twice", deleted=OLD)
    assert await clean_up(stack) == CleanupResult(removed=2)
    assert await left(stack) == ([], [])


async def test_p8_dying_between_object_and_row_is_made_up_for(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_file(stack, "a", deleted=OLD)
    await add_file(stack, "b", deleted=OLD)
    seen: list[tuple[list[str], list[str]]] = []
    original = post_files.delete_file

    async def die_once(*arguments: Any) -> None:
        if not seen:
            seen.append(await left(stack))
            raise RuntimeError("the power fails")
        await original(*arguments)

    monkeypatch.setattr(post_files, "delete_file", die_once)
    assert await clean_up(stack) == CleanupResult(removed=2)
    assert seen == [(["a", "b"], ["b"])]
    assert await left(stack) == ([], [])


async def test_p8_a_failing_store_costs_only_its_own_files(stack: Harness) -> None:
    for key in ("a", "b", "c"):
        await add_file(stack, key, deleted=OLD)
    stack.simulator.faults.add(Fault(path="/s3/art/b", status=403))
    first = await clean_up(stack)
    assert (first.removed, first.failed) == (2, 1)
    assert "object store refuses" in (first.last_failure or "")
    assert await left(stack) == (["b"], ["b"])
    stack.simulator.faults.clear()
    assert await clean_up(stack) == CleanupResult(removed=1)


async def test_p8_batches_follow_each_other_and_a_dead_store_ends_the_run(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_cleanup, "_FILES_AT_ONCE", 2)
    monkeypatch.setattr(storage_cleanup, "_FAILURES_IN_A_ROW", 2)
    for number in range(5):
        await add_file(stack, f"f{number}", deleted=OLD)
    stack.simulator.faults.add(Fault(path="/s3", status=403))
    assert (await clean_up(stack)).failed == 2
    stack.simulator.faults.clear()
    assert await clean_up(stack) == CleanupResult(removed=5)
    assert await left(stack) == ([], [])


async def test_p8_a_file_brought_back_meanwhile_stays(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = await add_file(stack, "a", deleted=OLD)
    original = post_files.lock_object

    async def restore_first(*arguments: Any, **more: Any) -> dict[int, bool]:
        await stack.execute("update post_file set deleted_at = null where id = :id", id=file_id)
        return await original(*arguments, **more)

    monkeypatch.setattr(post_files, "lock_object", restore_first)
    assert await clean_up(stack) == CleanupResult()
    assert await left(stack) == (["a"], ["a"])
