"""The keys that payloads were ever encrypted with, by their fingerprints (never the keys themselves)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def fingerprints(connection: AsyncConnection) -> dict[str, str]:
    rows = await connection.execute(text("select id, fingerprint from payload_key"))
    return {str(row.id): str(row.fingerprint) for row in rows}


async def lock(connection: AsyncConnection) -> None:
    """Until the transaction ends, no other process can record a key."""
    await connection.execute(text("lock table payload_key in share row exclusive mode"))


async def record(connection: AsyncConnection, key_id: str, fingerprint: str) -> str:
    """Returns the recorded fingerprint: the given one, unless another process recorded one first."""
    await connection.execute(
        text("insert into payload_key (id, fingerprint) values (:id, :fingerprint) on conflict do nothing"),
        {"id": key_id, "fingerprint": fingerprint},
    )
    return str(
        await connection.scalar(text("select fingerprint from payload_key where id = :id"), {"id": key_id})
    )


async def listing(connection: AsyncConnection) -> Sequence[dict[str, Any]]:
    rows = await connection.execute(text("select * from payload_key order by first_used_at"))
    return [dict(row) for row in rows.mappings()]


async def forget(connection: AsyncConnection, key_id: str) -> bool:
    gone = await connection.execute(text("delete from payload_key where id = :id"), {"id": key_id})
    return bool(gone.rowcount)
