"""Dead letters (C11): what failed for good, kept until a person, or a later success, settles it."""

from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.expression import bindparam

from fascicle.domain.errors import ErrorRecord

_BURY = text("""
insert into dead_letter as d (kind, job_key, workflow_id, input, error, error_code, retryable, attempts,
  first_failed_at, last_failed_at)
values (:kind, :job_key, :workflow_id, :input, :error, :error_code, :retryable, :attempts, :now, :now)
on conflict (kind, job_key) where state = 'open' do update set
  input = excluded.input, error = excluded.error, error_code = excluded.error_code,
  retryable = excluded.retryable, attempts = d.attempts + excluded.attempts,
  occurrences = d.occurrences + 1, last_failed_at = excluded.last_failed_at
returning id
""").bindparams(bindparam("input", type_=JSONB), bindparam("error", type_=JSONB))


async def bury(
    connection: AsyncConnection,
    *,
    kind: str,
    job_key: str,
    workflow_id: str,
    job_input: dict[str, Any],
    error: ErrorRecord,
    attempts: int,
    now: datetime,
) -> int:
    letter_id: int = await connection.scalar(
        _BURY,
        {
            "kind": kind,
            "job_key": job_key,
            "workflow_id": workflow_id,
            "input": job_input,
            "error": error.model_dump(mode="json"),
            "error_code": error.error_code,
            "retryable": error.retryable,
            "attempts": attempts,
            "now": now,
        },
    )
    return letter_id


async def resolve(connection: AsyncConnection, kind: str, job_key: str, now: datetime) -> None:
    """The job succeeded after all: its open letter is settled by itself."""
    await connection.execute(
        text("""update dead_letter set state = 'resolved', settled_at = :now
                where kind = :kind and job_key = :job_key and state = 'open'"""),
        {"kind": kind, "job_key": job_key, "now": now},
    )


async def get(connection: AsyncConnection, letter_id: int) -> dict[str, Any] | None:
    rows = await connection.execute(text("select * from dead_letter where id = :id"), {"id": letter_id})
    row = rows.mappings().first()
    return dict(row) if row else None


async def listing(connection: AsyncConnection, *, state: str | None, limit: int) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select * from dead_letter where cast(:state as text) is null or state = :state
                order by last_failed_at desc limit :limit"""),
        {"state": state, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def counts_by_code(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(
        text("""select error_code, count(*) from dead_letter where state = 'open'
                group by error_code order by count(*) desc""")
    )
    return {row[0]: row[1] for row in rows}


async def settle(connection: AsyncConnection, letter_id: int, state: str, now: datetime) -> bool:
    result = await connection.execute(
        text("""update dead_letter set state = :state, settled_at = :now
                where id = :id and state = 'open'"""),
        {"id": letter_id, "state": state, "now": now},
    )
    return result.rowcount == 1
