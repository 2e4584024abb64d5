"""The gate's rows: one per site or account, correct across any number of workers and restarts.

All instants are the database's clock; callers get durations, so that clock skew between machines is harmless.
"""

import random
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain import gate as rules
from fascicle.domain.gate import GatePolicy
from fascicle.storage.database import transaction

_ENSURE = text("""
insert into gate (name, next_at, queue_until, blocked_until, delay_seconds)
values (:name, '-infinity', '-infinity', '-infinity', :floor) on conflict (name) do nothing
""")

# Take the next free instant if it is near enough to be slept through ...
_RESERVE = text("""
update gate set
  next_at = greatest(next_at, blocked_until, clock_timestamp())
            + make_interval(secs => greatest(delay_seconds, cast(:floor as float8)) * :stretch),
  updated_at = now()
where name = :name and greatest(next_at, blocked_until)
      <= clock_timestamp() + make_interval(secs => :patience)
returning extract(epoch from next_at - clock_timestamp() - make_interval(
            secs => greatest(delay_seconds, cast(:floor as float8)) * :stretch))::float8,
          failures > 0 or refusals > 0 or delay_seconds > :floor
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


@dataclass(frozen=True)
class Slot:
    """Go after `seconds` if `granted`; else come back then and ask again."""

    granted: bool
    seconds: float
    reason: str | None = None
    strained: bool = False
    """The gate stands wider than its floor: report the outcome so that it can ease."""


class Gates:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
        stretch = 1 + policy.jitter * random.random()  # noqa: S311
        values = {"name": name, "floor": policy.floor, "patience": patience, "stretch": stretch}
        async with transaction(self._engine) as connection:
            row = (await connection.execute(_RESERVE, values)).first()
            if row is None:  # no row yet, or no slot near enough
                await connection.execute(_ENSURE, values)
                row = (await connection.execute(_RESERVE, values)).first()
            if row is not None:
                return Slot(True, max(0.0, row[0]), strained=row[1])
            wait, reason = (await connection.execute(_QUEUE, values)).one()
            return Slot(False, max(0.0, wait), reason)

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
                text("select delay_seconds, refusals from gate where name = :name for update"), {"name": name}
            )
            delay, refusals = found.first() or (policy.floor, 0)
            delay, refusals = rules.after_failure(delay, policy), refusals + refused
            opens = refused and rules.opens(refusals, policy)
            if opens:
                not_before = max(policy.open_seconds, not_before or 0.0)
                reason = f"circuit open: refused {refusals} times in a row ({reason or 'too many requests'})"
            await connection.execute(
                _BACK_OFF,
                {"name": name, "delay": delay, "refusals": refusals, "wait": not_before, "reason": reason}
                | {"opens": opens},
            )
            return max(delay, not_before or 0.0)
