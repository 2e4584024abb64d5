"""Sources whose polls may end the worker: how often in a row it was lost, and their turns.

A worker that ends also ends all its running polls, and only one of them is to blame. Each is suspected;
suspected sources are polled one at a time, and one good poll clears a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# Any constant will do: two suspected sources must not take the turn at the same time.
_TURN_LOCK = 7_201_714
# The mark of a worker that ended stays; the other sources wait for it no longer than this.
_LONGEST_TURN = "interval '1 minute'"


@dataclass(frozen=True)
class Begun:
    losses: int
    """How often in a row the worker was lost."""
    was_lost: bool
    """The attempt before this one never ended."""
    granted: bool
    """False: another suspected source is being polled."""


async def begin(connection: AsyncConnection, source_id: str) -> Begun:
    """Note that a poll of the source begins. An earlier poll that never ended counts as a lost worker."""
    await connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _TURN_LOCK})
    row = (
        await connection.execute(
            text(f"""select losses, poll_begun_at is not null as was_lost,
                       exists (select from source other where other.losses > 0 and other.id <> source.id
                         and other.poll_begun_at > clock_timestamp() - {_LONGEST_TURN}) as taken
                     from source where id = :id for update of source"""),
            {"id": source_id},
        )
    ).one()
    losses = row.losses + row.was_lost
    granted = losses == 0 or not row.taken
    await connection.execute(
        text("""update source set losses = :losses,
                  poll_begun_at = case when :granted then clock_timestamp() end where id = :id"""),
        {"id": source_id, "losses": losses, "granted": granted},
    )
    return Begun(losses, row.was_lost, granted)


async def end(connection: AsyncConnection, source_id: str, *, cleared: bool) -> None:
    """The poll is over and the worker survived. `cleared`: the site's answer was read."""
    await connection.execute(
        text("""update source set poll_begun_at = null, losses = case when :cleared then 0 else losses end
                where id = :id"""),
        {"id": source_id, "cleared": cleared},
    )


async def count_loss(connection: AsyncConnection, source_id: str) -> int:
    """A poll was given up because no worker finished it. Returns how often in a row this happened."""
    losses: int = await connection.scalar(
        text("""update source set losses = losses + 1, poll_begun_at = null where id = :id
                returning losses"""),
        {"id": source_id},
    )
    return losses
