"""The progress of imports (C14): one row per row of the file, so that a new run continues the last one."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

State = Literal["added", "present", "doubtful", "failed"]

_BEGIN = text("""
insert into import_entry as e (fingerprint, position, title, url)
select :fingerprint, * from unnest(cast(:positions as int[]), cast(:titles as text[]), cast(:urls as text[]))
on conflict (fingerprint, position) do update
  set title = excluded.title, url = excluded.url, state = 'pending', source_id = null, detail = null
  where (e.title, e.url) is distinct from (excluded.title, excluded.url)
""")

# A source that was removed meanwhile is not finished: a new import of the file adds it again.
_FINISHED = text("""
select position from import_entry e
where fingerprint = :fingerprint and state in ('added', 'present')
  and exists (select from source s where s.id = e.source_id and s.removed_at is null)
""")

_SETTLE = text("""
update import_entry set state = :state, source_id = :source_id, detail = :detail, updated_at = now()
where fingerprint = :fingerprint and position = :position
""").bindparams(bindparam("detail", type_=JSONB(none_as_null=True)))


async def begin(
    connection: AsyncConnection, fingerprint: str, rows: Sequence[tuple[str | None, str | None]]
) -> set[int]:
    """Store the rows (title, address); returns the positions that an earlier run has finished."""
    await connection.execute(
        _BEGIN,
        {
            "fingerprint": fingerprint,
            "positions": list(range(len(rows))),
            "titles": [title for title, _ in rows],
            "urls": [url for _, url in rows],
        },
    )
    return set((await connection.execute(_FINISHED, {"fingerprint": fingerprint})).scalars())


async def settle(
    connection: AsyncConnection,
    fingerprint: str,
    position: int,
    state: State,
    *,
    source_id: str | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    values = {"fingerprint": fingerprint, "position": position, "state": state}
    await connection.execute(_SETTLE, {**values, "source_id": source_id, "detail": detail})


@dataclass(frozen=True)
class KnownSource:
    source_id: str
    series_id: str
    numbering_restarts: bool
    removed: bool


async def known_sources(
    connection: AsyncConnection, site: str, keys: Sequence[str]
) -> dict[str, KnownSource]:
    """The series of a site that are sources already, by key."""
    rows = await connection.execute(
        text("""select site_key, source.id, series_id, numbering_restarts, removed_at is not null
                from source join series on series.id = source.series_id
                where site = :site and site_key = any(cast(:keys as text[]))"""),
        {"site": site, "keys": list(keys)},
    )
    return {key: KnownSource(*rest) for key, *rest in rows}


async def follow_from(
    connection: AsyncConnection, user_id: str, series_id: str, read: Decimal | None
) -> None:
    """Follow a series from the chapter read last; the read mark never moves back."""
    await connection.execute(
        text("""insert into library_entry as e (user_id, series_id, read_number)
                values (:user_id, :series_id, :read)
                on conflict (user_id, series_id) do update
                set read_number = greatest(e.read_number, excluded.read_number)"""),
        {"user_id": user_id, "series_id": series_id, "read": read},
    )
