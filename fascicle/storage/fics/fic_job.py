"""The queue of fics: one row per job, processed in order at each site (F1, F2, F8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from fascicle.domain.fics.fic import FicRef, JobState, WorkResult
from fascicle.storage.operations.gate import PAUSED_UNTIL, REASON
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# A job's place in the queue: one that waits for its next attempt returns at that time, not earlier.
TURN_AT = "greatest(job.queued_at, coalesce(job.not_before, '-infinity'))"
WAITING = "job.state in ('pending', 'processing')"

_FRESH = """state = 'pending', round = round + 1, queued_at = :now, started_at = null, finished_at = null,
  next_url = null, requests = 0, pages = '[]', works = '[]', attempts = 0, losses = 0, not_before = null,
  waiting_for = null, error_code = null, error = null, reasons = '{}'"""


@dataclass(frozen=True)
class Turn:
    ahead: int
    """Jobs of the same site that come first; 0: it is this job's turn."""
    gate_wait: float
    """Seconds until the site's gate is free."""
    gate_reason: str | None


async def open_job(connection: AsyncConnection, ref: FicRef, now: datetime) -> bool:
    """Add a job for the fic. False: there is one already. A job that was deleted before continues its round
    numbers, so that notices of an earlier round do not count as notices of this one."""
    made = await connection.execute(
        text("""insert into fic_job (key, site, kind, site_id, url, queued_at, round)
                select cast(:key as text), :site, :kind, :id, :url, cast(:now as timestamptz),
                  coalesce(max(round), 0) + 1
                from notice where job_key = :key on conflict (key) do nothing"""),
        {"key": ref.key, "now": now} | ref.model_dump(),
    )
    return made.rowcount == 1


async def find(connection: AsyncConnection, key: str, *, lock: bool = False) -> dict[str, Any] | None:
    rows = await connection.execute(
        text(f"select * from fic_job where key = :key{' for update' if lock else ''}"), {"key": key}
    )
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def begin_round(connection: AsyncConnection, key: str, now: datetime) -> int | None:
    """Start a finished job again; returns its round. None: it is not finished, or does not exist."""
    started: int | None = await connection.scalar(
        text(f"""update fic_job set {_FRESH}
                 where key = :key and state not in ('pending', 'processing') returning round"""),
        {"key": key, "now": now},
    )
    return started


async def subscribe(
    connection: AsyncConnection,
    key: str,
    user_id: str,
    *,
    note: str | None,
    tags: Sequence[str],
    waits_until: datetime | None,
) -> None:
    """Subscribe to the job's present round; a new note or new tags replace earlier ones."""
    await connection.execute(
        text("""insert into fic_subscriber (job_key, user_id, round, note, tags, waits_until)
                select key, :user_id, round, :note, cast(:tags as text[]), :waits_until
                from fic_job where key = :key
                on conflict (job_key, user_id) do update set round = excluded.round,
                  note = coalesce(excluded.note, fic_subscriber.note),
                  tags = case when cardinality(excluded.tags) > 0 then excluded.tags
                              else fic_subscriber.tags end,
                  waits_until = excluded.waits_until"""),
        {"key": key, "user_id": user_id, "note": note, "tags": list(tags), "waits_until": waits_until},
    )


async def subscribe_earlier_ones(connection: AsyncConnection, key: str) -> None:
    """Subscribe everybody who waited for the previous round to this one."""
    await connection.execute(
        text("""update fic_subscriber s set round = job.round, waits_until = null from fic_job job
                where job.key = :key and s.job_key = job.key and s.round = job.round - 1"""),
        {"key": key},
    )


async def turn(connection: AsyncConnection, job: dict[str, Any], gate: str, now: datetime) -> Turn:
    row = await connection.execute(
        text(f"""
            select (select count(*) from fic_job job, fic_job mine
                    where mine.key = :key and job.site = mine.site and job.key <> mine.key
                      and {WAITING} and {TURN_AT} <= :now
                      and ({TURN_AT}, job.key) < ({TURN_AT.replace("job.", "mine.")}, mine.key)) as ahead,
              extract(epoch from greatest(gate.next_at, gate.blocked_until, {PAUSED_UNTIL})
                                 - clock_timestamp())::float8 as wait,
              {REASON} as reason
            from (select 1) as one left join gate on gate.name = :gate"""),
        {"key": job["key"], "gate": gate, "now": now},
    )
    found = row.one()
    wait = found.wait if found.wait is not None and found.wait > 0 else 0.0
    return Turn(found.ahead, wait, found.reason)


async def forgive_pause(connection: AsyncConnection, site: str, since: datetime) -> None:
    """Move start times forward by the length of a manual pause, so that it counts against no job."""
    await connection.execute(
        text(f"""update fic_job job set started_at = started_at + (now() - greatest(started_at, :since))
                 where site = :site and {WAITING} and started_at is not null"""),
        {"site": site, "since": since},
    )


async def next_in_line(connection: AsyncConnection, site: str) -> dict[str, Any] | None:
    """The first job of the site's queue, by the database's clock: the caller's time may be too old.
    A job that is called a moment too early waits."""
    rows = await connection.execute(
        text(f"""select key, site, kind, site_id as id, url from fic_job job
                 where site = :site and {WAITING} and {TURN_AT} <= clock_timestamp() + interval '5 seconds'
                 order by {TURN_AT}, key limit 1"""),
        {"site": site},
    )
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def begin(connection: AsyncConnection, key: str, round_: int, now: datetime) -> bool:
    """pending → processing. False: the job is not pending any more."""
    begun = await connection.execute(
        text("""update fic_job set state = 'processing', started_at = :now, waiting_for = null
                where key = :key and round = :round and state = 'pending'"""),
        {"key": key, "round": round_, "now": now},
    )
    return begun.rowcount == 1


async def waits_for(
    connection: AsyncConnection, key: str, round_: int, why: str | None, code: str | None = None
) -> None:
    await connection.execute(
        text("""update fic_job set waiting_for = :why, error_code = :code
                where key = :key and round = :round and state in ('pending', 'processing')
                  and (waiting_for, error_code) is distinct from (:why, :code)"""),
        {"key": key, "round": round_, "why": why, "code": code},
    )


async def go_on(
    connection: AsyncConnection,
    key: str,
    round_: int,
    next_url: str,
    pages: list[dict[str, Any]] | None = None,
) -> bool:
    """One request is done; the next starts with all its attempts. False: the job is no longer processed."""
    done = await connection.execute(
        text("""update fic_job set next_url = :next_url, requests = requests + 1, attempts = 0, losses = 0,
                  waiting_for = null, error_code = null, error = null,
                  pages = coalesce(cast(:pages as jsonb), pages)
                where key = :key and round = :round and state = 'processing'"""),
        {"key": key, "round": round_, "next_url": next_url, "pages": None if pages is None else _json(pages)},
    )
    return done.rowcount == 1


async def finish(
    connection: AsyncConnection,
    key: str,
    round_: int,
    state: JobState,
    *,
    now: datetime,
    reasons: Sequence[str] = (),
    works: Sequence[WorkResult] = (),
    error_code: str | None = None,
    error: str | None = None,
) -> bool:
    """False: the job was cleared or started again meanwhile; ignore this result."""
    done = await connection.execute(
        text("""update fic_job set state = :state, finished_at = :now, next_url = null, pages = '[]',
                  not_before = null, waiting_for = null, reasons = cast(:reasons as text[]),
                  works = cast(:works as jsonb), error_code = :error_code, error = :error
                where key = :key and round = :round and state in ('pending', 'processing')"""),
        {"key": key, "round": round_, "state": state, "now": now, "reasons": list(reasons)}
        | {"works": _json([work.model_dump(mode="json") for work in works])}
        | {"error_code": error_code, "error": error},
    )
    return done.rowcount == 1


async def judge_anew(
    connection: AsyncConnection,
    key: str,
    round_: int,
    state: JobState,
    *,
    reasons: Sequence[str],
    works: Sequence[WorkResult],
) -> None:
    """Replace the verdict on a fic that was read."""
    await connection.execute(
        text("""update fic_job set state = :state, reasons = cast(:reasons as text[]),
                  works = cast(:works as jsonb) where key = :key and round = :round"""),
        {"key": key, "round": round_, "state": state, "reasons": list(reasons)}
        | {"works": _json([work.model_dump(mode="json") for work in works])},
    )


async def count_loss(connection: AsyncConnection, key: str, round_: int) -> int:
    """Returns how often in a row the worker ended while it read this fic; 0: the job is not open any more."""
    losses: int | None = await connection.scalar(
        text("""update fic_job set losses = losses + 1
                where key = :key and round = :round and state in ('pending', 'processing')
                returning losses"""),
        {"key": key, "round": round_},
    )
    return losses or 0


async def count_attempt(
    connection: AsyncConnection, key: str, round_: int, *, code: str, error: str
) -> int | None:
    """Returns how many attempts failed; None: the job is not open any more."""
    attempts: int | None = await connection.scalar(
        text("""update fic_job set attempts = attempts + 1, error_code = cast(:code as text), error = :error,
                  losses = case when cast(:code as text) = 'worker_lost' then losses else 0 end
                where key = :key and round = :round and state in ('pending', 'processing')
                returning attempts"""),
        {"key": key, "round": round_, "code": code, "error": error},
    )
    return attempts


async def put_off(connection: AsyncConnection, key: str, round_: int, until: datetime, why: str) -> None:
    await connection.execute(
        text("""update fic_job set not_before = :until, waiting_for = :why
                where key = :key and round = :round and state in ('pending', 'processing')"""),
        {"key": key, "round": round_, "until": until, "why": why},
    )


async def clear(connection: AsyncConnection, key: str) -> bool:
    """Delete a job and its subscribers; the data read about the fic stays."""
    gone = await connection.execute(text("delete from fic_job where key = :key"), {"key": key})
    await connection.execute(text("delete from fic_page where job_key = :key"), {"key": key})
    await connection.execute(
        text("""update delivery set state = 'discarded' where job_key = :key and state = 'pending'"""),
        {"key": key},
    )
    return gone.rowcount == 1


async def unfinished(
    connection: AsyncConnection, *, key: str | None = None, limit: int = 10_000
) -> list[dict[str, Any]]:
    """Jobs that are waiting, or have messages to send, oldest first; all of them, or only `key`."""
    rows = await connection.execute(
        text(f"""select key, site, kind, site_id as id, url from fic_job job
                 where (cast(:key as text) is null or key = :key) and ({WAITING} or exists (
                   select 1 from delivery d where d.job_key = job.key and d.state in ('pending', 'sending')))
                 order by {TURN_AT}, key limit :limit"""),
        {"key": key, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def neglected(connection: AsyncConnection, before: datetime, limit: int) -> list[dict[str, Any]]:
    """The first job of each site's queue, and jobs with messages to send, if they were due before `before`.
    Jobs further back are checked when they become first."""
    rows = await connection.execute(
        text(f"""with first as (
                   select distinct on (site) key, {TURN_AT} as turn_at from fic_job job
                   where {WAITING} order by site, {TURN_AT}, key)
                 select job.key, site, kind, site_id as id, url from fic_job job
                 where key in (select key from first where turn_at < :before)
                    or exists (select 1 from delivery d where d.job_key = job.key
                         and d.state in ('pending', 'sending') and d.next_attempt_at < :before)
                    or (not {WAITING} and exists (
                         select 1 from discord_reply r where r.job_key = job.key and r.state = 'open'
                           and r.next_attempt_at < :before))
                 order by key limit :limit"""),
        {"before": before, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def forget_finished(connection: AsyncConnection, before: datetime) -> int:
    """Delete jobs that finished before `before` (F8), and old pages, Discord replies and notices that are no
    longer needed. Returns the number of jobs."""
    gone = await connection.execute(
        text("delete from fic_job where finished_at < :before"), {"before": before}
    )
    for forgotten in (
        "fic_page where created_at < :before",
        "discord_reply where created_at < :before",
        """notice n where created_at < :before and job_key not like 'request-%'
           and not exists (select 1 from fic_job job where job.key = n.job_key)""",
    ):
        await connection.execute(text(f"delete from {forgotten}"), {"before": before})
    return gone.rowcount


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
