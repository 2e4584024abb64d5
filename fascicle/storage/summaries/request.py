"""Requests: one open request per page, a limited number running at once, and their states (R1, R2)."""

from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.errors import ErrorRecord
from fascicle.domain.summaries.request import DONE, PROGRESS, RequestStatus, Stage

# Any constant will do; the lock keeps the count of running requests exact.
_SLOTS_LOCK = 7_203_115
_IS_OPEN = "status in ('pending', 'running')"
_IS_DUE = "coalesce(not_before, '-infinity') <= :now"
# A waiting client has this long to confirm that it received the answer; after that the message is sent.
_HEARD_WITHIN = timedelta(seconds=10)


async def lock_page(connection: AsyncConnection, url_hash: str) -> None:
    await connection.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:hash, 7))"), {"hash": url_hash}
    )


async def newest_of(
    connection: AsyncConnection, url_hash: str, *statuses: RequestStatus
) -> dict[str, Any] | None:
    """The last request for that page in one of these states, locked until the transaction ends."""
    rows = await connection.execute(
        text("""select * from request where url_hash = :hash and status = any(cast(:statuses as text[]))
                order by created_at desc, id limit 1 for update"""),
        {"hash": url_hash, "statuses": list(statuses)},
    )
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def insert(
    connection: AsyncConnection,
    request_id: str,
    *,
    url: str,
    url_hash: str,
    correlation_id: str,
    now: datetime,
) -> bool:
    """False: there is a request with that id already."""
    made = await connection.execute(
        text("""insert into request (id, url, url_hash, correlation_id, queued_at, touched_at, created_at)
                values (:id, :url, :hash, :correlation_id, :now, :now, :now)
                on conflict (id) do nothing"""),
        {"id": request_id, "url": url, "hash": url_hash, "correlation_id": correlation_id, "now": now},
    )
    return made.rowcount == 1


async def is_about(connection: AsyncConnection, request_id: str, item_id: int) -> None:
    """Note that the request summarises an item's page. The row's lock orders this and the request's end."""
    await connection.execute(
        text("update request set item_id = :item_id where id = :id"), {"id": request_id, "item_id": item_id}
    )


async def find(connection: AsyncConnection, request_id: str, *, lock: bool = False) -> dict[str, Any] | None:
    rows = await connection.execute(
        text(f"select * from request where id = :id{' for update' if lock else ''}"), {"id": request_id}
    )
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def reopen(connection: AsyncConnection, request_id: str, now: datetime) -> bool:
    """Retry a failed or cancelled request; the results of its stages are kept. False: it is not over."""
    opened = await connection.execute(
        text("""update request set status = 'pending', round = round + 1, queued_at = :now, touched_at = :now,
                  started_at = null, finished_at = null, not_before = null, waiting_for = null, attempts = 0,
                  error = null, stage = null, progress = 0, problems = '{}', validated = null
                where id = :id and status in ('failed', 'cancelled')"""),
        {"id": request_id, "now": now},
    )
    return opened.rowcount == 1


async def subscribe(
    connection: AsyncConnection, request_id: str, user_id: str, waits_until: datetime | None
) -> None:
    await connection.execute(
        text("""insert into request_subscriber (request_id, user_id, waits_until)
                values (:id, :user_id, :waits_until)
                on conflict (request_id, user_id) do update set waits_until = excluded.waits_until"""),
        {"id": request_id, "user_id": user_id, "waits_until": waits_until},
    )


async def claim(connection: AsyncConnection, request_id: str, *, most: int, now: datetime) -> bool:
    """pending → running, if fewer than `most` are: that status is the slot. True also if it is running."""
    await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _SLOTS_LOCK})
    claimed = await connection.execute(
        text(f"""update request set status = 'running', started_at = coalesce(started_at, :now),
                   waiting_for = null, not_before = null, touched_at = :now
                 where id = :id and (status = 'running' or (status = 'pending' and {_IS_DUE}
                   and (select count(*) from request where status = 'running') < :most))"""),
        {"id": request_id, "most": most, "now": now},
    )
    return claimed.rowcount == 1


async def place_in_line(connection: AsyncConnection, request_id: str) -> int:
    """The request's place in the queue; 1 is next."""
    ahead: int = await connection.scalar(
        text("""select count(*) from request r, request mine
                where mine.id = :id and r.status = 'pending'
                  and (r.queued_at, r.id) < (mine.queued_at, mine.id)"""),
        {"id": request_id},
    )
    return ahead + 1


async def next_in_line(connection: AsyncConnection, *, most: int, now: datetime) -> list[dict[str, Any]]:
    """The next pending requests, as many as there are free slots."""
    rows = await connection.execute(
        text(f"""select id, url, correlation_id, round from request
                 where status = 'pending' and {_IS_DUE} order by queued_at, id
                 limit greatest(0, :most - (select count(*) from request where status = 'running'))"""),
        {"most": most, "now": now},
    )
    return [dict(row) for row in rows.mappings()]


async def enter(
    connection: AsyncConnection, request_id: str, stage: Stage, now: datetime, progress: int | None = None
) -> bool:
    """Store the request's stage and progress. False: it is not running any more and must stop."""
    entered = await connection.execute(
        text("""update request set attempts = case when stage = :stage then attempts else 0 end,
                  stage = :stage, progress = :progress, touched_at = :now, waiting_for = null
                where id = :id and status = 'running'"""),
        {"id": request_id, "stage": stage, "progress": progress or PROGRESS[stage], "now": now},
    )
    return entered.rowcount == 1


async def step_back(connection: AsyncConnection, request_id: str, *, until: datetime, why: str) -> bool:
    """Free the slot for another request while this one waits."""
    done = await connection.execute(
        text("""update request set status = 'pending', not_before = :until, waiting_for = :why
                where id = :id and status = 'running'"""),
        {"id": request_id, "until": until, "why": why[:500]},
    )
    return done.rowcount == 1


async def go_now(connection: AsyncConnection, request_id: str) -> None:
    """Let the request try now, whatever it waits for."""
    await connection.execute(
        text("update request set not_before = null where id = :id and status = 'pending'"), {"id": request_id}
    )


async def waits_for(connection: AsyncConnection, request_id: str, why: str) -> None:
    await connection.execute(
        text(f"update request set waiting_for = :why where id = :id and {_IS_OPEN}"),
        {"id": request_id, "why": why[:500]},
    )


async def note_failure(connection: AsyncConnection, request_id: str, error: ErrorRecord) -> None:
    """Count a failed attempt."""
    await connection.execute(
        text(f"""update request set attempts = attempts + 1, error = cast(:error as jsonb)
                 where id = :id and {_IS_OPEN}"""),
        {"id": request_id, "error": _json(error.model_dump(mode="json"))},
    )


async def keep_verdict(
    connection: AsyncConnection, request_id: str, *, problems: list[str], validated: dict[str, Any] | None
) -> None:
    """Store the result of validation: the draft's problems, or the valid summary."""
    await connection.execute(
        text("""update request set problems = cast(:problems as text[]), validated = cast(:validated as jsonb)
                where id = :id and status = 'running'"""),
        {"id": request_id, "problems": problems}
        | {"validated": None if validated is None else _json(validated)},
    )


async def finish(
    connection: AsyncConnection,
    request_id: str,
    status: RequestStatus,
    *,
    now: datetime,
    round_: int | None = None,
    error: ErrorRecord | None = None,
) -> bool:
    """False: it was over already, or a new round began since `round_`; ignore this result."""
    done = await connection.execute(
        text(f"""update request set status = :status, finished_at = :now, touched_at = :now,
                   not_before = null, waiting_for = null, error = cast(:error as jsonb),
                   stage = case when :status = 'succeeded' then null else stage end,
                   progress = case when :status = 'succeeded' then {DONE} else progress end
                 where id = :id and {_IS_OPEN}
                   and round = coalesce(cast(:round as integer), round)"""),
        {"id": request_id, "status": status, "now": now, "round": round_}
        | {"error": None if error is None else _json(error.model_dump(mode="json"))},
    )
    return done.rowcount == 1


_NOTIFY = text("""
with subscribed as (
  select s.user_id, s.waits_until, r.round from request_subscriber s join request r on r.id = s.request_id
  where r.id = :id
), noticed as (
  insert into notice (job_key, round, event, user_id, title, body, created_at)
  select :key, round, :event, user_id, :title, :body, :now from subscribed
  on conflict do nothing returning id, user_id
)
insert into delivery (notice_id, job_key, channel_id, next_attempt_at)
select n.id, :key, c.id, greatest(cast(:now as timestamptz), s.waits_until + cast(:heard_within as interval))
from noticed n join subscribed s on s.user_id = n.user_id join channel c on c.user_id = n.user_id
on conflict (notice_id, channel_id) do nothing
""")


async def notify(
    connection: AsyncConnection,
    request_id: str,
    job_key: str,
    event: str,
    *,
    title: str,
    body: str,
    now: datetime,
) -> None:
    """Owe every subscriber a message, once per round."""
    await connection.execute(
        _NOTIFY,
        {"id": request_id, "key": job_key, "event": event, "title": title, "body": body, "now": now}
        | {"heard_within": _HEARD_WITHIN},
    )


async def neglected(
    connection: AsyncConnection, before: datetime, *, most: int, limit: int
) -> list[dict[str, Any]]:
    """Requests that should have moved by then: running ones, the first in line, those with messages due."""
    rows = await connection.execute(
        text("""with first as (
                  select id from request where status = 'pending'
                    and greatest(queued_at, coalesce(not_before, '-infinity'), touched_at) < :before
                  order by queued_at, id limit :most)
                select id, url, correlation_id, round from request
                where (status = 'running' and touched_at < :before) or id in (select id from first)
                   or exists (select 1 from delivery d where d.job_key = 'request-' || request.id
                        and d.state in ('pending', 'sending') and d.next_attempt_at < :before)
                order by queued_at, id limit :limit"""),
        {"before": before, "most": most, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def forget(connection: AsyncConnection, before: datetime) -> int:
    """Delete old articles, answers and notices, and requests that failed. Summaries and costs stay."""
    for statement in (
        "delete from request_article a using request r where r.id = a.request_id and r.finished_at < :before",
        """update llm_call c set content = null where content is not null and ended_at < :before
           and not exists (select 1 from request r where r.id = c.request_id
                           and coalesce(r.finished_at, 'infinity') >= :before)""",
        """delete from notice where created_at < :before and job_key like 'request-%'
           and not exists (select 1 from delivery d where d.notice_id = notice.id
                           and d.state in ('pending', 'sending'))""",
    ):
        await connection.execute(text(statement), {"before": before})
    gone = await connection.execute(
        text("delete from request where status in ('failed', 'cancelled') and finished_at < :before"),
        {"before": before},
    )
    return gone.rowcount


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
