"""Ingestion runs (I6): a row for every look at a feed, with its document if there was something to do."""

from __future__ import annotations

import asyncio
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# As stored: `new` is a run that changed something, even without new items.
Outcome = Literal["first", "new", "idle", "not_modified", "failed"]
# As shown: a run without new items is not called `new`.
_SHOWN = """case when run.outcome <> 'new' or run.new > 0 then run.outcome
  when run.flood then 'flood' else 'changed' end as outcome"""


@dataclass(frozen=True)
class Run:
    source_id: str
    outcome: Outcome
    started_at: datetime
    finished_at: datetime
    replay_of: int | None = None
    http_status: int | None = None
    size: int | None = None
    entries: int = 0
    new: int = 0
    updated: int = 0
    renamed: int = 0
    silent: int = 0
    failed: int = 0
    delivered: int = 0
    flood: bool = False
    error_code: str | None = None
    error: str | None = None
    document: bytes | None = None
    content_type: str | None = None


@dataclass(frozen=True)
class Document:
    source_id: str
    body: bytes | None
    content_type: str | None


_RECORD = text("""
insert into ingestion_run (source_id, outcome, started_at, finished_at, duration_ms, replay_of, http_status,
  bytes, entries, new, updated, renamed, silent, failed, delivered, flood, error_code, error, document,
  content_type)
values (:source_id, :outcome, :started_at, :finished_at, :duration_ms, :replay_of, :http_status,
  :size, :entries, :new, :updated, :renamed, :silent, :failed, :delivered, :flood, :error_code, :error,
  :document, :content_type)
returning id
""")


async def record(connection: AsyncConnection, run: Run) -> int:
    values: dict[str, Any] = vars(run).copy()
    took = run.finished_at - run.started_at
    values["duration_ms"] = min(max(0, round(took.total_seconds() * 1000)), 2**31 - 1)
    if run.document is not None:
        values["document"] = await asyncio.to_thread(zlib.compress, run.document, 6)
    values["error"] = run.error[:2000] if run.error else None
    run_id: int = await connection.scalar(_RECORD, values)
    return run_id


async def document(connection: AsyncConnection, run_id: int) -> Document | None:
    """The document that a run read, if it is still stored. None: there is no such run."""
    row = (
        await connection.execute(
            text("select source_id, document, content_type from ingestion_run where id = :id"), {"id": run_id}
        )
    ).first()
    if row is None:
        return None
    body = zlib.decompress(row.document) if row.document is not None else None
    return Document(row.source_id, body, row.content_type)


_LISTING = f"""
select run.id, run.source_id, source.title as feed, {_SHOWN}, run.started_at, run.finished_at,
  run.duration_ms, run.http_status, run.bytes, run.entries, run.new, run.updated, run.renamed, run.silent,
  run.failed, run.delivered, run.flood, run.error_code, run.error, run.replay_of,
  run.document is not null as document_kept
from ingestion_run run join source on source.id = run.source_id
"""


async def listing(
    connection: AsyncConnection, *, source_id: str | None = None, failed: bool = False, limit: int
) -> list[dict[str, Any]]:
    """Runs as people see them, newest first. `failed`: runs that failed, or that had a failed entry."""
    rows = await connection.execute(
        text(f"""{_LISTING} where (cast(:source_id as text) is null or run.source_id = :source_id)
                   and (not :failed or run.outcome = 'failed' or run.failed > 0)
                 order by run.id desc limit :limit"""),
        {"source_id": source_id, "failed": failed, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


# A dead letter's time is the start of the run that wrote it.
_LETTERS = text("""
select letter.id, letter.kind, letter.job_key, letter.error_code, letter.state
from ingestion_run run join dead_letter letter on letter.kind in ('item', 'poll')
  and letter.input ->> 'source_id' = run.source_id
  and run.started_at in (letter.first_failed_at, letter.last_failed_at)
where run.id = :id order by letter.id
""")


async def get(connection: AsyncConnection, run_id: int) -> dict[str, Any] | None:
    """One run with its dead letters."""
    row = (
        (await connection.execute(text(f"{_LISTING} where run.id = :id"), {"id": run_id})).mappings().first()
    )
    if row is None:
        return None
    letters = await connection.execute(_LETTERS, {"id": run_id})
    return {**row, "letters": [dict(letter) for letter in letters.mappings()]}


async def latest_replay(connection: AsyncConnection, run_id: int, *, after: int) -> dict[str, Any] | None:
    """The newest replay of a run, if its number is above `after`."""
    rows = await connection.execute(
        text(f"{_LISTING} where run.replay_of = :id and run.id > :after order by run.id desc limit 1"),
        {"id": run_id, "after": after},
    )
    row = rows.mappings().first()
    return dict(row) if row else None


async def newest_id(connection: AsyncConnection) -> int:
    newest: int = await connection.scalar(text("select coalesce(max(id), 0) from ingestion_run"))
    return newest


async def age_out(
    connection: AsyncConnection, *, idle_before: datetime, documents_before: datetime, before: datetime
) -> int:
    """Delete old documents and runs; runs that found nothing are deleted earlier than the others."""
    await connection.execute(
        text("""update ingestion_run set document = null
                where document is not null and started_at < :before"""),
        {"before": documents_before},
    )
    gone = await connection.execute(
        text("""delete from ingestion_run where started_at < :before
                or (started_at < :idle_before and outcome in ('idle', 'not_modified'))"""),
        {"before": before, "idle_before": idle_before},
    )
    return gone.rowcount
