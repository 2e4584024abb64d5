"""Files of posts that are due for removal from the object store (P8)."""

from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Deleted long enough ago; or never completely stored, and the post was not changed for as long.
_DUE = """(
    f.deleted_at < :before
    or (f.deleted_at is null and f.stored_at is null and greatest(p.created_at, p.updated_at) < :before)
)"""


async def due_for_removal(
    connection: AsyncConnection, *, before: datetime, after_id: int, limit: int
) -> list[tuple[int, str]]:
    """Ids and object keys, in the order of ids."""
    rows = await connection.execute(
        text(
            f"""select f.id, f.object_key from post_file f join post p on p.id = f.post_id
            where f.id > :after_id and {_DUE} order by f.id limit :limit"""
        ),
        {"before": before, "after_id": after_id, "limit": limit},
    )
    return [(row.id, row.object_key) for row in rows]


async def lock_object(connection: AsyncConnection, object_key: str, *, before: datetime) -> dict[int, bool]:
    """Lock every file that names the object; returns for each whether it is due for removal.

    None of them can be restored until the transaction ends.
    """
    rows = await connection.execute(
        text(
            f"""select f.id, {_DUE} as due from post_file f join post p on p.id = f.post_id
            where f.object_key = :object_key order by f.id for update of f"""
        ),
        {"before": before, "object_key": object_key},
    )
    return {row.id: bool(row.due) for row in rows}


async def delete_file(connection: AsyncConnection, file_id: int) -> None:
    await connection.execute(text("delete from post_file where id = :id"), {"id": file_id})
