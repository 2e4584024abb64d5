"""The order of an account's posts, and posts whose workflow may be missing (P2, P9)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.publishing.post import PostState
from fascicle.storage.publishing.publication import note, set_state
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# Posts of the account that are in progress, or that were due earlier.
_BEFORE = text("""
select count(*) from post other
where other.account_id = :account and other.id <> :id and other.deleted_at is null
  and (other.state in ('uploading', 'publishing')
       or other.state = 'scheduled' and coalesce(other.due_at, other.publish_at) <= :now
          and (coalesce(other.due_at, other.publish_at), other.created_at, other.id)
              < (:due, cast(:created as timestamptz), :id))
""")

_NEXT = text("""
select id, title, account_id from post
where account_id = :account and state = 'scheduled' and deleted_at is null
  and coalesce(due_at, publish_at) <= :now
order by coalesce(due_at, publish_at), created_at, id limit 1
""")


async def plan_for(connection: AsyncConnection, post_id: str, due_at: datetime) -> None:
    await connection.execute(
        text("update post set due_at = :due, planned_for = publish_at where id = :id"),
        {"id": post_id, "due": due_at},
    )


async def take_turn(connection: AsyncConnection, post: dict[str, Any], now: datetime) -> int:
    """scheduled → uploading, if no post of the account comes first. Returns how many come first."""
    await connection.execute(
        text("select pg_advisory_xact_lock(hashtextextended(:turn, 0))"),
        {"turn": f"turn:{post['account_id']}"},
    )
    values = {"account": post["account_id"], "id": post["id"], "now": now}
    values |= {"due": post["due_at"], "created": post["created_at"]}
    before = int(await connection.scalar(_BEFORE, values) or 0)
    if not before:
        await set_state(connection, post["id"], PostState.UPLOADING)
        await note(connection, post["id"], "begun", {"late_seconds": (now - post["due_at"]).total_seconds()})
    return before


async def next_of_account(
    connection: AsyncConnection, account_id: str, now: datetime
) -> dict[str, Any] | None:
    row = (await connection.execute(_NEXT, {"account": account_id, "now": now})).mappings().first()
    return None if row is None else dict(row)


_UNPLANNED = text("""
select id, title, account_id, publish_at from post
where state in ('scheduled', 'uploading', 'publishing') and planned_for is distinct from publish_at
  and deleted_at is null
  and (publish_at, id) > (coalesce(cast(:after as timestamptz), '-infinity'), :after_id)
order by publish_at, id limit :limit
""")

# Least recently reconciled first, so that every post is reached, however many wait for their turn.
_OVERDUE = text("""
update post set reconciled_at = :now
where id in (
  select p.id from post p join account a on a.id = p.account_id
  where p.state in ('scheduled', 'uploading', 'publishing') and p.due_at < :before and p.deleted_at is null
    and a.paused_at is null
  order by p.reconciled_at nulls first, p.due_at limit :limit)
returning id, title, account_id
""")

_UNFINISHED = text("""
select id, title, account_id from post
where state in ('scheduled', 'uploading', 'publishing') and deleted_at is null and id > :after
  and (cast(:account as text) is null or account_id = :account)
order by id limit :limit
""")


async def unplanned(
    connection: AsyncConnection, *, after: tuple[datetime | None, str] = (None, ""), limit: int
) -> list[dict[str, Any]]:
    """Posts whose workflow was not notified: another program scheduled them, or one of ours that died.

    `after`: the time and id of the last post of the previous page.
    """
    rows = await connection.execute(_UNPLANNED, {"after": after[0], "after_id": after[1], "limit": limit})
    return [dict(row) for row in rows.mappings()]


async def overdue(
    connection: AsyncConnection, *, before: datetime, now: datetime, limit: int
) -> list[dict[str, Any]]:
    rows = await connection.execute(_OVERDUE, {"before": before, "now": now, "limit": limit})
    return [dict(row) for row in rows.mappings()]


async def unfinished(
    connection: AsyncConnection, *, account_id: str | None = None, after: str = "", limit: int = 500
) -> list[dict[str, Any]]:
    """Unfinished posts of one account or of all, by id."""
    rows = await connection.execute(_UNFINISHED, {"account": account_id, "after": after, "limit": limit})
    return [dict(row) for row in rows.mappings()]
