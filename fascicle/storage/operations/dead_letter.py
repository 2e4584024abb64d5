"""Dead letters (C11): jobs that failed for good, kept until a person or a later success settles them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import ErrorRecord
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_BURY = text(
    """
insert into dead_letter as d (kind, job_key, workflow_id, input, error, error_code, retryable, attempts,
  first_failed_at, last_failed_at)
values (:kind, :job_key, :workflow_id, :input, :error, :error_code, :retryable, :attempts, :now, :now)
on conflict (kind, job_key) where state = 'open' do update set
  input = excluded.input, error = excluded.error, error_code = excluded.error_code,
  retryable = excluded.retryable, attempts = d.attempts + excluded.attempts,
  occurrences = d.occurrences + 1, last_failed_at = excluded.last_failed_at
returning id
""",
    jsonb=("input", "error"),
)


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
    """The job succeeded after all: resolve its open letter."""
    await connection.execute(
        text("""update dead_letter set state = 'resolved', settled_at = :now
                where kind = :kind and job_key = :job_key and state = 'open'"""),
        {"kind": kind, "job_key": job_key, "now": now},
    )


async def get(connection: AsyncConnection, letter_id: int) -> dict[str, Any] | None:
    rows = await connection.execute(text("select * from dead_letter where id = :id"), {"id": letter_id})
    row = rows.mappings().first()
    return dict(row) if row else None


async def listing(
    connection: AsyncConnection,
    *,
    state: str | None,
    limit: int | None,
    code: str | None = None,
    kind: str | None = None,
) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select * from dead_letter
                where (cast(:state as text) is null or state = :state)
                  and (cast(:code as text) is null or error_code = :code)
                  and (cast(:kind as text) is null or kind = :kind)
                order by last_failed_at desc, id desc limit :limit"""),
        {"state": state, "limit": limit, "code": code, "kind": kind},
    )
    return [dict(row) for row in rows.mappings()]


async def to_replay(
    connection: AsyncConnection,
    *,
    letters: Collection[int],
    code: str | None,
    kind: str | None,
    after: int,
    limit: int,
) -> list[dict[str, Any]]:
    """Letters above number `after`: the named ones, even if replayed before, else open ones that match."""
    rows = await connection.execute(
        text("""select d.id, d.kind, d.job_key, d.input as job_input, c.series_id
                from dead_letter d
                left join logical_chapter c on c.id = cast(d.input ->> 'chapter_id' as bigint)
                where d.id > :after
                  and case when cardinality(cast(:letters as bigint[])) > 0
                        then d.id = any(cast(:letters as bigint[])) and d.state in ('open', 'replayed')
                        else d.state = 'open' and (cast(:code as text) is null or d.error_code = :code)
                             and (cast(:kind as text) is null or d.kind = :kind) end
                order by d.id limit :limit"""),
        {"letters": list(letters), "code": code, "kind": kind, "after": after, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def counts_by_code(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(
        text("""select error_code, count(*) from dead_letter where state = 'open'
                group by error_code order by count(*) desc, error_code""")
    )
    return {row[0]: row[1] for row in rows}


async def counts(connection: AsyncConnection) -> list[dict[str, Any]]:
    """The open letters by error code and kind of work, with the age of each group."""
    rows = await connection.execute(
        text("""select error_code, kind, count(*) as letters, min(first_failed_at) as first_failed_at,
                  max(last_failed_at) as last_failed_at
                from dead_letter where state = 'open'
                group by error_code, kind order by count(*) desc, error_code, kind""")
    )
    return [dict(row) for row in rows.mappings()]


async def give_up(connection: AsyncConnection, *, before: datetime, now: datetime) -> int:
    """Discard open letters that last failed before `before`, and the messages of those about a delivery."""
    rows = await connection.execute(
        text("""with old as (
                  update dead_letter set state = 'discarded', settled_at = :now
                  where state = 'open' and last_failed_at < :before returning kind, input
                ), messages as (
                  update delivery set state = 'discarded'
                  where id in (select cast(input ->> 'delivery_id' as bigint) from old where kind = 'deliver')
                    and state in ('failed', 'unconfirmed')
                )
                select count(*) from old"""),
        {"before": before, "now": now},
    )
    return int(rows.scalar_one())


async def forget(connection: AsyncConnection, *, before: datetime) -> int:
    """Delete letters settled before `before`. Discarded letters that stop polls from retrying a job stay."""
    result = await connection.execute(
        text("""delete from dead_letter where settled_at < :before and state <> 'open'
                  and not (state = 'discarded' and kind in ('ingest', 'item'))"""),
        {"before": before},
    )
    return result.rowcount


async def settle(connection: AsyncConnection, letter_id: int, state: str, now: datetime) -> bool:
    result = await connection.execute(
        text("""update dead_letter set state = :state, settled_at = :now
                where id = :id and state = 'open'"""),
        {"id": letter_id, "state": state, "now": now},
    )
    return result.rowcount == 1


async def put_back(connection: AsyncConnection, letter_id: int) -> None:
    """Open a replayed letter again, unless the job has written a new one by now."""
    await connection.execute(
        text("""update dead_letter d set state = 'open', settled_at = null
                where id = :id and state = 'replayed' and not exists (
                  select 1 from dead_letter other
                  where other.kind = d.kind and other.job_key = d.job_key and other.state = 'open')"""),
        {"id": letter_id},
    )


async def settled_jobs(connection: AsyncConnection, kind: str, job_keys: Collection[str]) -> set[str]:
    """The jobs among these whose dead letter forbids an automatic retry."""
    rows = await connection.execute(
        text("""select job_key from dead_letter where kind = :kind and job_key = any(cast(:keys as text[]))
                  and (state = 'discarded' or (state = 'open' and not retryable))"""),
        {"kind": kind, "keys": list(job_keys)},
    )
    return set(rows.scalars())
