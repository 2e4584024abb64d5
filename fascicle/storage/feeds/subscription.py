"""Subscriptions: the feeds that each person follows (I4, I7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.feeds.feed import SubscriptionState
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True)
class Interest:
    """How many people want a feed, now or when they come back to it."""

    active: int
    paused: int


async def hold(connection: AsyncConnection, source_id: str) -> Interest:
    """The interest in a feed; the lock keeps it unchanged until the end of the transaction.

    Every writer locks the feed's row first and no other row before it: this prevents deadlocks.
    """
    await connection.execute(text("select from feed where source_id = :id for update"), {"id": source_id})
    row = await connection.execute(
        text("""select count(*) filter (where state = 'ACTIVE'), count(*) filter (where state = 'PAUSED')
                from subscription where source_id = :id"""),
        {"id": source_id},
    )
    return Interest(*row.one())


async def unread(connection: AsyncConnection, source_ids: Sequence[str]) -> set[str]:
    """The feeds that nobody reads now; the locks keep that unchanged until the end of the transaction."""
    await connection.execute(
        text("select from feed where source_id = any(:ids) order by source_id for update"),
        {"ids": list(source_ids)},
    )
    rows = await connection.execute(
        text("""select id from unnest(cast(:ids as text[])) as wanted (id)
                where not exists (select from subscription where source_id = id and state = 'ACTIVE')"""),
        {"ids": list(source_ids)},
    )
    return set(rows.scalars())


_SUBSCRIBE = text("""
insert into subscription as s (user_id, source_id, title, folder)
values (:user_id, :source_id, cast(:title as text), cast(:folder as text))
on conflict (user_id, source_id) do update set state = 'ACTIVE',
  state_at = case when s.state = 'ACTIVE' then s.state_at else now() end,
  title = coalesce(excluded.title, s.title), folder = coalesce(excluded.folder, s.folder)
""")


async def subscribe(
    connection: AsyncConnection,
    user_id: str,
    source_id: str,
    *,
    title: str | None = None,
    folder: str | None = None,
) -> bool:
    """Returns True if the person did not follow the feed before."""
    before = await state_of(connection, user_id, source_id)
    await connection.execute(
        _SUBSCRIBE, {"user_id": user_id, "source_id": source_id, "title": title, "folder": folder}
    )
    return before is not SubscriptionState.ACTIVE


async def state_of(connection: AsyncConnection, user_id: str, source_id: str) -> SubscriptionState | None:
    found = await connection.scalar(
        text("select state from subscription where user_id = :user_id and source_id = :source_id"),
        {"user_id": user_id, "source_id": source_id},
    )
    return SubscriptionState(found) if found else None


async def set_state(
    connection: AsyncConnection, user_id: str, source_id: str, state: SubscriptionState
) -> None:
    await connection.execute(
        text("""update subscription set state = :state, state_at = now()
                where user_id = :user_id and source_id = :source_id and state <> :state"""),
        {"user_id": user_id, "source_id": source_id, "state": state},
    )


# Newest first by the feed's own dates; entries without a date count by when they were first seen.
_BACKFILL = text("""
insert into inbox_item (user_id, item_id, source_id, arrived_at)
select :user_id, item_id, :source_id, cast(:now as timestamptz) from (
  select item_id from feed_item where source_id = :source_id and item_id is not null
  group by item_id
  order by max(coalesce(published_at, first_seen_at)) desc, max(first_seen_at) desc, item_id desc
  limit :most) newest
on conflict (user_id, item_id) do nothing returning item_id
""")


async def backfill(
    connection: AsyncConnection, user_id: str, source_id: str, *, most: int, now: datetime
) -> list[int]:
    """Put a feed's newest items into one person's inbox; returns those that the person did not have."""
    rows = await connection.execute(
        _BACKFILL, {"user_id": user_id, "source_id": source_id, "most": most, "now": now}
    )
    return list(rows.scalars())


# Each feed and each inbox is counted once: two counts per row took a minute for a long list.
_LISTING = text("""
with chosen as (
  select s.* from subscription s
  where s.state <> 'UNSUBSCRIBED' and (cast(:user_id as text) is null or s.user_id = :user_id)
    and (cast(:source_id as text) is null or s.source_id = :source_id)
), listed as (
  select * from (select distinct source_id from chosen) feeds
  cross join lateral (select count(*) as items from feed_item f where f.source_id = feeds.source_id) counted
), waiting as (
  select user_id, source_id, count(*) as inbox from inbox_item
  where state = 'INBOX' and (cast(:user_id as text) is null or user_id = :user_id)
    and source_id in (select source_id from chosen) group by user_id, source_id
)
select source.id, coalesce(s.title, source.title) as title, source.title as feed_title, feed.url,
  source.url as site_url, feed.kind, s.state, s.folder, app_user.name as "user",
  source.cadence, source.circuit, source.last_checked_at, source.last_success_at, source.last_new_at,
  source.next_check_at, source.next_check_reason, source.paused_at, source.paused_reason,
  source.failure_count, source.last_error_code, source.last_error, feed.gone_at, feed.moved_to,
  s.created_at as subscribed_at, coalesce(listed.items, 0) as items, coalesce(waiting.inbox, 0) as inbox
from chosen s
join source on source.id = s.source_id and source.removed_at is null
join feed on feed.source_id = source.id
join app_user on app_user.id = s.user_id
left join listed on listed.source_id = s.source_id
left join waiting on waiting.source_id = s.source_id and waiting.user_id = s.user_id
order by app_user.name, s.folder nulls first, lower(coalesce(s.title, source.title)), source.id
""")


async def listing(
    connection: AsyncConnection, user_id: str | None = None, source_id: str | None = None
) -> list[dict[str, Any]]:
    """Subscriptions as people see them: of one person or of all, to one feed or to all."""
    rows = await connection.execute(_LISTING, {"user_id": user_id, "source_id": source_id})
    return [dict(row) for row in rows.mappings()]


_NAMES = text("""
select source.id, coalesce(s.title, source.title) as title, feed.url, source.url as site_url, s.folder
from subscription s
join source on source.id = s.source_id and source.removed_at is null
join feed on feed.source_id = source.id
join app_user on app_user.id = s.user_id
where s.state <> 'UNSUBSCRIBED' and (cast(:user_id as text) is null or s.user_id = :user_id)
order by app_user.name, s.folder nulls first, lower(coalesce(s.title, source.title)), source.id
""")


async def names(connection: AsyncConnection, user_id: str | None = None) -> list[dict[str, Any]]:
    """Titles, addresses and folders of subscriptions, without the counts of `listing`."""
    rows = await connection.execute(_NAMES, {"user_id": user_id})
    return [dict(row) for row in rows.mappings()]


async def add_many(
    connection: AsyncConnection, user_id: str, sources: Sequence[tuple[str, str | None, str | None]]
) -> set[str]:
    """Subscribe to many feeds (id, title, folder) at once; returns those that are new to this person."""
    rows = await connection.execute(
        text("""insert into subscription as s (user_id, source_id, title, folder)
                select cast(:user_id as text), * from unnest(
                  cast(:ids as text[]), cast(:titles as text[]), cast(:folders as text[]))
                on conflict (user_id, source_id) do update set state = 'ACTIVE', state_at = now(),
                  title = coalesce(excluded.title, s.title), folder = coalesce(excluded.folder, s.folder)
                  where s.state = 'UNSUBSCRIBED'
                returning source_id"""),
        {
            "user_id": user_id,
            "ids": [source_id for source_id, _, _ in sources],
            "titles": [title for _, title, _ in sources],
            "folders": [folder for _, _, folder in sources],
        },
    )
    return set(rows.scalars())
