"""A life of the storage cleanup worth keeping."""

from fascicle.domain.names import MAIN_QUEUE, new_id
from tests.harness import Harness


async def deleted_files_are_removed(stack: Harness) -> dict[str, str]:
    """Files that were deleted long ago, one of them of two posts, and one that is kept."""
    await stack.execute("insert into account (id, site_user_id, name) values ('ann', 'u', 'ann')")
    await stack.execute(
        "insert into post (id, account_id, title) values ('one', 'ann', 'A'), ('two', 'ann', 'B')"
    )
    await stack.execute(
        """insert into post_file (post_id, position, object_key, file_name, deleted_at) values
        ('one', 1, 'a', 'a.png', now() - interval '8 days'),
        ('one', 2, 'shared', 'b.png', now() - interval '8 days'),
        ('two', 1, 'shared', 'b.png', null)"""
    )
    handle = await stack.client.start_workflow(
        "StorageCleanupWorkflow", id=f"storage-cleanup-{new_id()}", task_queue=MAIN_QUEUE
    )
    await handle.result()
    return {"storage_cleanup": handle.id}
