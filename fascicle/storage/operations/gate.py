"""The rows of gates: one per site or account, correct across any number of workers and restarts.

All times come from the database's clock; callers get durations, so clock skew between machines is harmless.
"""

from __future__ import annotations

import random
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from fascicle.domain import gate as rules
from fascicle.domain.gate import GatePolicy, Slot
from fascicle.storage.database import statement, transaction
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

_ENSURE = text("""
insert into gate (name, next_at, queue_until, blocked_until, delay_seconds)
values (:name, '-infinity', '-infinity', '-infinity', :floor) on conflict (name) do nothing
""")

_DISTANCE = "greatest(delay_seconds, cast(:floor as float8)) * :stretch + :think"

# A pause of `deviantart` also pauses each of its accounts (`deviantart:…`).
_FAMILY = "(select family.{column} from gate family where family.name = split_part(gate.name, ':', 1))"
PAUSED_AT = f"coalesce(gate.paused_at, {_FAMILY.format(column='paused_at')})"
# The end of a pause is unknown: callers check again, and the longer the pause lasts, the less often.
PAUSED_UNTIL = f"""case when {PAUSED_AT} is not null then clock_timestamp()
  + least(greatest(clock_timestamp() - {PAUSED_AT}, interval '5 minutes'), interval '1 hour') end"""
REASON = f"""case when {PAUSED_AT} is not null
    then coalesce(gate.paused_reason, {_FAMILY.format(column="paused_reason")}, 'paused')
  when gate.blocked_until > clock_timestamp() then gate.blocked_reason end"""

# Take the next slot if it is near enough for the caller to sleep until then ...
_RESERVE = text(f"""
update gate set
  next_at = greatest(next_at, blocked_until, clock_timestamp())
            + make_interval(secs => {_DISTANCE} + :lease),
  turn = turn + 1,
  updated_at = now()
where name = :name and {PAUSED_AT} is null
  and greatest(next_at, blocked_until) <= clock_timestamp() + make_interval(secs => :patience)
returning extract(epoch from next_at - clock_timestamp() - make_interval(
            secs => {_DISTANCE} + :lease))::float8 as seconds,
          failures > 0 or refusals > 0 or delay_seconds > :floor as strained, turn
""")

# The distance counts from the end of the request, failed or not. If the lease ran out and another turn began,
# this can only make the next wait longer.
_RETURN = text(f"""
update gate set next_at = greatest(
    case when turn <> :turn then next_at else '-infinity' end,
    clock_timestamp() + make_interval(secs => {_DISTANCE}))
where name = :name
""")

# With a lease, only one request runs at a time and the order is kept elsewhere: only read how long to wait.
_WAIT = text(f"""
select extract(epoch from greatest(next_at, blocked_until, {PAUSED_UNTIL}) - clock_timestamp())::float8,
       {REASON}, {PAUSED_AT} is not null
from gate where name = :name
""")

# ... else take a place in the queue: not a slot, only a time to come back that no other caller got.
_QUEUE = text(f"""
update gate set
  queue_until = greatest(queue_until, next_at, blocked_until, {PAUSED_UNTIL}, clock_timestamp())
                + make_interval(secs => greatest(delay_seconds, cast(:floor as float8)))
where name = :name
returning extract(epoch from queue_until - clock_timestamp() - make_interval(
            secs => greatest(delay_seconds, cast(:floor as float8))))::float8,
          {REASON}, {PAUSED_AT} is not null
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
    """Count a finished job of this gate; after `jobs` of them comes a longer pause."""
    await connection.execute(_COUNT_JOB, {"name": name, "jobs": jobs, "pause": pause})


async def pause(
    connection: AsyncConnection, name: str, reason: str, *, floor: float, keep_reason: bool = False
) -> None:
    """Let nothing through from now on. A second pause replaces the reason, unless `keep_reason`."""
    await connection.execute(_ENSURE, {"name": name, "floor": floor})
    await connection.execute(
        text("""update gate set paused_at = coalesce(paused_at, now()),
                  paused_reason = case when :keep_reason and paused_at is not null then paused_reason
                                       else :reason end
                where name = :name"""),
        {"name": name, "reason": reason, "keep_reason": keep_reason},
    )


async def resume(connection: AsyncConnection, name: str) -> datetime | None:
    """Returns the start of the pause; None: there was none. Waiting callers come back within an hour."""
    since: datetime | None = await connection.scalar(
        text("""update gate set paused_at = null, paused_reason = null, queue_until = '-infinity'
                from (select name as of, paused_at as since from gate where name = :name for update) before
                where name = before.of and before.since is not null returning before.since"""),
        {"name": name},
    )
    return since


async def is_paused(connection: AsyncConnection, name: str) -> bool:
    found = await connection.scalar(text(f"select {PAUSED_AT} from gate where name = :name"), {"name": name})
    return found is not None


async def was_passed(connection: AsyncConnection, name: str) -> bool:
    """True if a gate of that name, or of that family, was ever used."""
    found = await connection.scalar(
        text("select 1 from gate where name = :name or split_part(name, ':', 1) = :name limit 1"),
        {"name": name},
    )
    return found is not None


def _distance(policy: GatePolicy) -> dict[str, float]:
    return {
        "floor": policy.floor,
        "stretch": policy.stretch(random.random()),  # noqa: S311
        "think": policy.thinking(random.random()),  # noqa: S311
    }


class GateWatch(Protocol):
    """Counts the waits. `how`: `slept` in place, or `returned` to the caller."""

    def waited_at_gate(self, gate: str, seconds: float, how: str) -> None: ...

    def failed_at_gate(self, gate: str, *, refused: bool) -> None: ...


class Gates:
    def __init__(self, engine: AsyncEngine, watch: GateWatch | None = None) -> None:
        self._engine = engine
        self._watch = watch

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
        slot = await self._reserve(name, policy, patience)
        if self._watch is not None:
            self._watch.waited_at_gate(name, slot.seconds, "slept" if slot.granted else "returned")
        return slot

    async def _reserve(self, name: str, policy: GatePolicy, patience: float) -> Slot:
        values = {"name": name, "patience": patience, "lease": policy.lease} | _distance(policy)
        async with statement(self._engine) as connection:
            row = (await connection.execute(_RESERVE, values)).first()
            if row is None:  # no row yet, or no slot near enough
                await connection.execute(_ENSURE, values)
                row = (await connection.execute(_RESERVE, values)).first()
            if row is not None:
                return Slot(True, max(0.0, row.seconds), strained=row.strained, turn=row.turn)
            asked = _QUEUE if policy.lease == 0 else _WAIT
            wait, reason, by_hand = (await connection.execute(asked, values)).one()
            return Slot(False, max(0.0, wait), reason, by_hand=by_hand)

    async def returned(self, name: str, policy: GatePolicy, turn: int) -> None:
        """The request of that turn is over; the distance to the next one counts from now."""
        async with statement(self._engine) as connection:
            await connection.execute(_RETURN, {"name": name, "turn": turn} | _distance(policy))

    async def blocked(self, name: str) -> Slot | None:
        """How long the site's answer, or a person's pause, blocks the gate; None: it is not blocked."""
        async with statement(self._engine) as connection:
            rows = await connection.execute(
                text(f"""select extract(epoch from greatest(blocked_until, {PAUSED_UNTIL})
                                          - clock_timestamp())::float8, {REASON}, {PAUSED_AT} is not null
                         from gate where name = :name
                           and (blocked_until > clock_timestamp() or {PAUSED_AT} is not null)"""),
                {"name": name},
            )
            row = rows.first()
        return None if row is None else Slot(False, row[0], row[1], by_hand=row[2])

    async def succeeded(self, name: str, policy: GatePolicy) -> None:
        async with statement(self._engine) as connection:
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
        """Back off. `refused`: we came too often; `not_before`: the seconds that the site asked for.

        Returns for how many seconds the gate stays shut.
        """
        if self._watch is not None:
            self._watch.failed_at_gate(name, refused=refused)
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
