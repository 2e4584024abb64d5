"""The sale queue (P7): posts that automations published, taken by clients that put them up for sale.

A client claims an item for a limited time. If it does not report by then, another client may claim the item;
claims are random, so a client that comes back late holds none. After five attempts a person must decide.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

MOST_ATTEMPTS = 5
_MOST_ERROR = 2000

# Settle items that cannot be sold: the post was cancelled or deleted, or all attempts ran out.
_SETTLE_HOPELESS = text("""
update sale set
  state = case when sale.attempts >= :most and sale.state = 'claimed' then 'failed' else 'cancelled' end,
  last_error = case when sale.state = 'claimed' then 'the claim ran out: ' || sale.claimed_by
    else sale.last_error end,
  settled_at = :now
from post where post.id = sale.post_id and (
  (sale.state in ('waiting', 'ready') and (post.state = 'cancelled' or post.deleted_at is not null))
  or (sale.state = 'claimed' and sale.claimed_until <= :now and sale.attempts >= :most))
""")

# Fewest attempts first, then the oldest: an item that always fails does not block the others.
_NEXT = text("""
with chosen as (
  select sale.id from sale join post on post.id = sale.post_id
  where post.state = 'published' and post.deleted_at is null
    and (sale.state in ('waiting', 'ready') or (sale.state = 'claimed' and sale.claimed_until <= :now))
  order by sale.attempts, sale.id limit 1 for update of sale skip locked
)
update sale set state = 'claimed', claim = :claim, claimed_by = :client, claimed_until = :until,
  attempts = sale.attempts + 1
from chosen, post where sale.id = chosen.id and post.id = sale.post_id
returning sale.id, sale.post_id, post.title, sale.price, sale.attempts, sale.claimed_until,
  (select coalesce(array_agg(f.url order by f.position), '{}') from post_file f
    where f.post_id = post.id and f.url is not null) as urls
""")


@dataclass(frozen=True)
class Claimed:
    id: int
    claim: str
    """The token to pass to `complete` and `fail`."""
    post_id: str
    title: str
    urls: list[str]
    price: dict[str, Any]
    attempts: int
    claimed_until: datetime


class ClaimLost(PermanentError):
    """Another client has the item by now, or it is settled."""


async def take_next(
    connection: AsyncConnection, client: str, now: datetime, claim_seconds: float
) -> Claimed | None:
    """Claim an item for the client until the claim runs out; None: there is nothing to do."""
    await connection.execute(_SETTLE_HOPELESS, {"now": now, "most": MOST_ATTEMPTS})
    claim = secrets.token_urlsafe(18)
    rows = await connection.execute(
        _NEXT,
        {"claim": claim, "client": client, "now": now, "until": now + timedelta(seconds=claim_seconds)},
    )
    row = rows.mappings().first()
    return None if row is None else Claimed(**row, claim=claim)


async def complete(connection: AsyncConnection, sale_id: int, claim: str, now: datetime) -> str:
    """The item is up for sale. Safe to repeat with the same claim: an answer may get lost."""
    sale = await _locked(connection, sale_id)
    if sale["claim"] != claim or sale["state"] not in ("claimed", "done"):
        raise _lost(sale)
    if sale["state"] == "claimed":
        await _settle(connection, sale_id, "done", None, now)
    return "done"


async def fail(
    connection: AsyncConnection, sale_id: int, claim: str, error: str, *, retry: bool, now: datetime
) -> str:
    """The attempt failed: requeue the item or leave it to a person. Returns its state. Safe to repeat."""
    sale = await _locked(connection, sale_id)
    if sale["claim"] != claim or sale["state"] == "done":
        raise _lost(sale)
    if sale["state"] != "claimed":
        return str(sale["state"])
    state = "ready" if retry and sale["attempts"] < MOST_ATTEMPTS else "failed"
    await _settle(connection, sale_id, state, error[:_MOST_ERROR], now)
    return state


async def retry(connection: AsyncConnection, sale_id: int) -> None:
    """A person puts a failed item back into the queue with all its attempts; also a cancelled item whose post
    was scheduled again."""
    sale = await _locked(connection, sale_id)
    if sale["state"] not in ("failed", "cancelled"):
        raise UsageError(
            "wrong_state", f"Sale {sale_id} is {sale['state']}; only failed or cancelled ones are retried."
        )
    await connection.execute(
        text("""update sale set state = 'waiting', attempts = 0, claim = null, settled_at = null
                where id = :id"""),
        {"id": sale_id},
    )


async def listing(connection: AsyncConnection, *, state: str | None, limit: int) -> list[dict[str, Any]]:
    """Newest first. An open item is shown as ready or cancelled if its post is, whatever its row says."""
    rows = await connection.execute(
        text("""select * from (
                  select sale.id, sale.post_id, post.title, sale.price,
                    case when sale.state = 'waiting' and post.state = 'published' then 'ready'
                      when sale.state in ('waiting', 'ready')
                        and (post.state = 'cancelled' or post.deleted_at is not null) then 'cancelled'
                      else sale.state end as state,
                    sale.attempts, sale.claimed_by, sale.claimed_until, sale.last_error, sale.created_at
                  from sale join post on post.id = sale.post_id) as shown
                where cast(:state as text) is null or state = :state order by id desc limit :limit"""),
        {"state": state, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def count_failed(connection: AsyncConnection) -> int:
    """The number of items that a person must decide about."""
    return int(await connection.scalar(text("select count(*) from sale where state = 'failed'")) or 0)


async def _locked(connection: AsyncConnection, sale_id: int) -> dict[str, Any]:
    rows = await connection.execute(text("select * from sale where id = :id for update"), {"id": sale_id})
    row = rows.mappings().first()
    if row is None:
        raise UsageError("unknown_sale", f"There is no sale {sale_id}. See `fascicle sale list`.")
    return dict(row)


async def _settle(
    connection: AsyncConnection, sale_id: int, state: str, error: str | None, now: datetime
) -> None:
    await connection.execute(
        text("""update sale set state = :state, last_error = coalesce(:error, last_error),
                  settled_at = case when :state in ('done', 'failed') then cast(:now as timestamptz) end
                where id = :id"""),
        {"id": sale_id, "state": state, "error": error, "now": now},
    )


def _lost(sale: dict[str, Any]) -> ClaimLost:
    return ClaimLost(
        "claim_lost", f"That is not the current claim of sale {sale['id']}, which is {sale['state']}."
    )
