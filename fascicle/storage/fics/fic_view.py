"""Jobs as people see them: state, position, reason for waiting (F2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fascicle.domain.fics.fic import Fic, FicKind, FicView, JobState
from fascicle.domain.fics.fic_queue import eta_seconds
from fascicle.domain.names import fic_workflow_id
from fascicle.storage.fics.fic_job import TURN_AT, WAITING
from fascicle.storage.operations.gate import PAUSED_AT, PAUSED_UNTIL, REASON
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# While a site's gate is shut, all its waiting fics are shown as `cooldown`.
_SHUT = f"(gate.blocked_until > clock_timestamp() or {PAUSED_AT} is not null)"
_SHOWN = f"case when {WAITING} and {_SHUT} then 'cooldown' else job.state end"
# Subscribers: of this round while the job waits, of all rounds afterwards.
_FACTS = f"""
select job.*, fic.title, fic.hidden_works, gate.name as gate,
  {_SHOWN} as shown,
  {REASON} as blocked_reason,
  greatest(0, extract(epoch from greatest(gate.next_at, gate.blocked_until, job.not_before, {PAUSED_UNTIL})
                                 - clock_timestamp()))::float8 as gate_wait,
  (select count(*) from fic_subscriber s where s.job_key = job.key
     and (s.round = job.round or not ({WAITING}))) as subscribers,
  (select u.name from fic_subscriber s join app_user u on u.id = s.user_id where s.job_key = job.key
   order by s.subscribed_at, u.name limit 1) as requested_by,
"""
_FROM = "from fic_job job left join fic on fic.key = job.key left join gate on gate.name = job.site"
# For one job: count the jobs up to and including it.
_COUNTED = f"""
  case when {WAITING} then (
    select count(*) from fic_job other
    where other.site = job.site and other.state in ('pending', 'processing')
      and ({TURN_AT.replace("job.", "other.")}, other.key) <= ({TURN_AT}, job.key)) end as position
"""
# For all jobs: one count per job would take quadratic time.
_NUMBERED = f"""
with queue as (
  select key, row_number() over (partition by site order by {TURN_AT}, key) as position
  from fic_job job where {WAITING}
), chosen as (
  select job.key from fic_job job left join queue using (key) left join gate on gate.name = job.site
  where (cast(:states as text[]) is null or {_SHOWN} = any(cast(:states as text[])))
    and (cast(:site as text) is null or job.site = :site)
    and (cast(:user_id as text) is null or exists (
      select 1 from fic_subscriber s where s.job_key = job.key and s.user_id = :user_id))
  order by queue.position is null, queue.position, job.site, job.finished_at desc, job.key limit :limit
)
{_FACTS} queue.position {_FROM} join chosen on chosen.key = job.key left join queue on queue.key = job.key
order by queue.position is null, queue.position, job.site, job.finished_at desc, job.key
"""


async def view(connection: AsyncConnection, key: str, distances: Mapping[str, float]) -> FicView | None:
    """`distances`: the usual seconds between two requests, by site; `""` for all others."""
    from fascicle.storage.fics.fic import override_of, work

    rows = await connection.execute(text(f"{_FACTS} {_COUNTED} {_FROM} where job.key = :key"), {"key": key})
    row = rows.mappings().first()
    if row is None:
        return None
    fic = await work(connection, key) if row["kind"] == FicKind.WORK else None
    return _view(dict(row), distances, fic=fic, override_by=await override_of(connection, key))


async def listing(
    connection: AsyncConnection,
    distances: Mapping[str, float],
    *,
    states: list[JobState] | None = None,
    site: str | None = None,
    user_id: str | None = None,
    limit: int = 50,
) -> list[FicView]:
    """Waiting jobs first, in queue order; then finished ones, latest first."""
    rows = await connection.execute(
        text(_NUMBERED),
        {"states": states, "site": site, "user_id": user_id, "limit": limit},
    )
    return [_view(dict(row), distances) for row in rows.mappings()]


async def subscribers(connection: AsyncConnection, key: str) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select u.name as user, s.round, s.note, s.tags, s.subscribed_at,
                  (select array_agg(n.event order by n.id) from notice n
                   where n.job_key = s.job_key and n.user_id = s.user_id and n.round = s.round) as told
                from fic_subscriber s join app_user u on u.id = s.user_id where s.job_key = :key
                order by s.subscribed_at, u.name"""),
        {"key": key},
    )
    return [dict(row) for row in rows.mappings()]


async def counts_by_state(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(
        text("select state, count(*) as jobs from fic_job group by state order by state")
    )
    return {row.state: row.jobs for row in rows}


def _view(
    row: Mapping[str, Any],
    distances: Mapping[str, float],
    *,
    fic: Fic | None = None,
    override_by: str | None = None,
) -> FicView:
    waits = row["position"] is not None
    distance = distances.get(row["site"], distances.get("", 0.0))
    reason = row["blocked_reason"] or row["waiting_for"]
    return FicView(
        key=row["key"],
        workflow_id=fic_workflow_id(row["key"]),
        url=row["url"],
        site=row["site"],
        kind=row["kind"],
        state=JobState(row["shown"]),
        round=row["round"],
        title=row["title"],
        fic=fic,
        requested_by=row["requested_by"],
        subscribers=row["subscribers"],
        position=row["position"],
        eta_seconds=round(eta_seconds(row["position"], row["gate_wait"], distance), 1) if waits else None,
        waiting_for=reason if waits else None,
        error_code=row["error_code"],
        error=row["error"],
        reasons=row["reasons"],
        override_by=override_by,
        works=row["works"],
        hidden_works=row["hidden_works"] or 0,
    )
