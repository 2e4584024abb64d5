"""The gate's rows: one per site or account, correct across any number of workers and restarts.

All instants are the database's clock; callers get durations, so that clock skew between machines is harmless.
"""

import random
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain import gate as rules
from fascicle.domain.gate import GatePolicy
from fascicle.storage.database import transaction

_ENSURE = text("""
insert into gate (name, next_at, queue_until, blocked_until, delay_seconds)
values (:name, '-infinity', '-infinity', '-infinity', :floor) on conflict (name) do nothing
""")

_DISTANCE = "greatest(delay_seconds, cast(:floor as float8)) * :stretch + :think"

# Take the next free instant if it is near enough to be slept through ...
_RESERVE = text(f"""
update gate set
  next_at = greatest(next_at, blocked_until, clock_timestamp())
            + make_interval(secs => {_DISTANCE} + :lease),
  turn = turn + 1,
  updated_at = now()
where name = :name and greatest(next_at, blocked_until)
      <= clock_timestamp() + make_interval(secs => :patience)
returning extract(epoch from next_at - clock_timestamp() - make_interval(
            secs => {_DISTANCE} + :lease))::float8 as seconds,
          failures > 0 or refusals > 0 or delay_seconds > :floor as strained, turn
""")

# The distance begins when the request is over, whatever came of it. Whoever was given up for lost meanwhile
# can only make the next wait longer.
_RETURN = text(f"""
update gate set next_at = greatest(
    case when turn <> :turn then next_at else '-infinity' end,
    clock_timestamp() + make_interval(secs => {_DISTANCE}))
where name = :name
""")

# Where only one goes at a time, the order is kept elsewhere; here is only how long to wait.
_WAIT = text("""
select extract(epoch from greatest(next_at, blocked_until) - clock_timestamp())::float8,
       case when blocked_until > clock_timestamp() then blocked_reason end
from gate where name = :name
""")

# ... else a place in the queue: not a slot, only a time to come back that nobody else was given.
_QUEUE = text("""
update gate set
  queue_until = greatest(queue_until, next_at, blocked_until, clock_timestamp())
                + make_interval(secs => greatest(delay_seconds, cast(:floor as float8)))
where name = :name
returning extract(epoch from queue_until - clock_timestamp() - make_interval(
            secs => greatest(delay_seconds, cast(:floor as float8))))::float8,
          case when blocked_until > clock_timestamp() then blocked_reason end
""")


_BACK_OFF = text("""
update gate set
  failures = failures + 1, refusals = :refusals, delay_seconds = :delay, updated_at = now(),
  next_at = greatest(next_at, clock_timestamp() + make_interval(secs => :delay)),
  blocked_until = greatest(blocked_until, clock_timestamp() + make_interval(secs => cast(:wait as float8))),
  blocked_reason = coalesce(cast(:reason as text), blocked_reason),
  open_until = case when :opens then clock_timestamp() + make_interval(secs => cast(:wait as float8))
                    else open_until end
where name = :name
""")


_COUNT_JOB = text("""
update gate set
  jobs_left = case when coalesce(jobs_left, :jobs) <= 1 then :jobs else coalesce(jobs_left, :jobs) - 1 end,
  blocked_reason = case when coalesce(jobs_left, :jobs) <= 1 and blocked_until < clock_timestamp()
                        then 'a longer pause, as after every so many jobs' else blocked_reason end,
  blocked_until = case when coalesce(jobs_left, :jobs) <= 1
                       then greatest(blocked_until, clock_timestamp() + make_interval(secs => :pause))
                       else blocked_until end
where name = :name
""")


async def count_job(connection: AsyncConnection, name: str, *, jobs: int, pause: float) -> None:
    """A job is over that went through this gate: after `jobs` of them comes a longer pause."""
    await connection.execute(_COUNT_JOB, {"name": name, "jobs": jobs, "pause": pause})


def _distance(policy: GatePolicy) -> dict[str, float]:
    return {
        "floor": policy.floor,
        "stretch": policy.stretch(random.random()),  # noqa: S311
        "think": policy.thinking(random.random()),  # noqa: S311
    }


@dataclass(frozen=True)
class Slot:
    """Go after `seconds` if `granted`; else come back then and ask again."""

    granted: bool
    seconds: float
    reason: str | None = None
    strained: bool = False
    """The gate stands wider than its floor: report the outcome so that it can ease."""
    turn: int = 0
    """To be named at the return, where only one goes at a time."""


class Gates:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
        values = {"name": name, "patience": patience, "lease": policy.lease} | _distance(policy)
        async with transaction(self._engine) as connection:
            row = (await connection.execute(_RESERVE, values)).first()
            if row is None:  # no row yet, or no slot near enough
                await connection.execute(_ENSURE, values)
                row = (await connection.execute(_RESERVE, values)).first()
            if row is not None:
                return Slot(True, max(0.0, row.seconds), strained=row.strained, turn=row.turn)
            asked = _QUEUE if policy.lease == 0 else _WAIT
            wait, reason = (await connection.execute(asked, values)).one()
            return Slot(False, max(0.0, wait), reason)

    async def returned(self, name: str, policy: GatePolicy, turn: int) -> None:
        """The request of that turn is over; the next one keeps its distance from now on."""
        async with transaction(self._engine) as connection:
            await connection.execute(_RETURN, {"name": name, "turn": turn} | _distance(policy))

    async def blocked(self, name: str) -> Slot | None:
        """For how long the site itself told us to stay away, if it does."""
        async with transaction(self._engine) as connection:
            rows = await connection.execute(
                text("""select extract(epoch from blocked_until - clock_timestamp())::float8, blocked_reason
                        from gate where name = :name and blocked_until > clock_timestamp()"""),
                {"name": name},
            )
            row = rows.first()
        return None if row is None else Slot(False, row[0], row[1])

    async def succeeded(self, name: str, policy: GatePolicy) -> None:
        async with transaction(self._engine) as connection:
            await connection.execute(
                text("""update gate set failures = 0, refusals = 0, open_until = null,
                          delay_seconds = greatest(cast(:floor as float8), delay_seconds * :ease)
                        where name = :name"""),
                {"name": name, "floor": policy.floor, "ease": rules.EASE},
            )

    async def failed(
        self,
        name: str,
        policy: GatePolicy,
        *,
        refused: bool = False,
        not_before: float | None = None,
        reason: str | None = None,
    ) -> float:
        """Back off; `refused`: for coming too often; `not_before` seconds is the site's own word.

        Returns for how long nobody may go there now.
        """
        async with transaction(self._engine) as connection:
            found = await connection.execute(
                text("select delay_seconds, refusals, failures from gate where name = :name for update"),
                {"name": name},
            )
            delay, refusals, failures = found.first() or (policy.floor, 0, 0)
            delay, refusals, failures = rules.after_failure(delay, policy), refusals + refused, failures + 1
            opens = refused and rules.opens(refusals, policy)
            if opens:
                not_before = max(policy.open_seconds, not_before or 0.0)
                reason = f"circuit open: refused {refusals} times in a row ({reason or 'too many requests'})"
            elif rules.cools_down(failures, policy):
                opens = True
                not_before = max(policy.open_seconds, not_before or 0.0)
                reason = f"cooling down after {failures} failures in a row ({reason or 'no good answer'})"
            await connection.execute(
                _BACK_OFF,
                {"name": name, "delay": delay, "refusals": refusals, "wait": not_before, "reason": reason}
                | {"opens": opens},
            )
            return max(delay, not_before or 0.0)
