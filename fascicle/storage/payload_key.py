"""The keys that payloads were ever encrypted with, by their fingerprints (never the keys themselves)."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.storage.payload_tables import payload_key


async def fingerprints(connection: AsyncConnection) -> dict[str, str]:
    rows = await connection.execute(select(payload_key.c.id, payload_key.c.fingerprint))
    return {str(row.id): str(row.fingerprint) for row in rows}


async def lock(connection: AsyncConnection) -> None:
    """Until the transaction ends, nobody else brings a key into use."""
    await connection.execute(text("lock table payload_key in share row exclusive mode"))


async def record(connection: AsyncConnection, key_id: str, fingerprint: str) -> str:
    """The fingerprint on record, which is the given one unless somebody was faster."""
    added = insert(payload_key).values(id=key_id, fingerprint=fingerprint).on_conflict_do_nothing()
    await connection.execute(added)
    there = select(payload_key.c.fingerprint).where(payload_key.c.id == key_id)
    return str((await connection.execute(there)).scalar_one())


async def listing(connection: AsyncConnection) -> Sequence[dict[str, Any]]:
    rows = await connection.execute(select(payload_key).order_by(payload_key.c.first_used_at))
    return [dict(row) for row in rows.mappings()]


async def forget(connection: AsyncConnection, key_id: str) -> bool:
    gone = await connection.execute(delete(payload_key).where(payload_key.c.id == key_id))
    return bool(gone.rowcount)
