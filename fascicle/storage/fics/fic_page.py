"""Pages that were fetched, or given by a person, and are not used yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def keep(connection: AsyncConnection, key: str, url: str, body: bytes, *, given: bool = False) -> None:
    await connection.execute(
        text("""insert into fic_page (job_key, url, body, given) values (:key, :url, :body, :given)
                on conflict (job_key, url) do update set body = excluded.body, given = excluded.given"""),
        {"key": key, "url": url, "body": body, "given": given},
    )


async def fetched_and_given(connection: AsyncConnection, key: str) -> tuple[dict[str, bytes], bytes | None]:
    """The fetched pages by address, and the page that a person gave."""
    rows = list(
        await connection.execute(
            text("select url, body, given from fic_page where job_key = :key"), {"key": key}
        )
    )
    fetched = {row.url: bytes(row.body) for row in rows if not row.given}
    return fetched, next((bytes(row.body) for row in rows if row.given), None)


async def has_given(connection: AsyncConnection, key: str) -> bool:
    return bool(
        await connection.scalar(
            text("select exists (select 1 from fic_page where job_key = :key and given)"), {"key": key}
        )
    )


async def forget(connection: AsyncConnection, key: str) -> None:
    await connection.execute(text("delete from fic_page where job_key = :key"), {"key": key})
