"""Notifications and their deliveries: one row per follower and chapter, one per channel of theirs (C8)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# One statement per page of followers. A crash between pages is harmless: the constraints make it idempotent.
_FAN_OUT = text("""
with page as (
  select e.user_id from library_entry e join logical_chapter c on c.series_id = e.series_id
  where c.id = :chapter_id and c.announce = 'owed' and e.notify and e.user_id > :after
  order by e.user_id limit :limit
), told as (
  insert into notification (user_id, chapter_id, created_at)
  select user_id, :chapter_id, :now from page
  on conflict (chapter_id, user_id) do nothing returning id, user_id
), queued as (
  insert into delivery (notification_id, channel_id, chapter_id, next_attempt_at)
  select told.id, channel.id, :chapter_id, :now from told join channel using (user_id)
  on conflict (notification_id, channel_id) do nothing returning 1
)
select (select count(*) from page) as followers, (select max(user_id) from page) as last,
       (select count(*) from told) as told, (select count(*) from queued) as queued
""")


@dataclass(frozen=True)
class FanOutPage:
    followers: int
    last_user: str | None
    told: int
    queued: int


@dataclass(frozen=True)
class Delivery:
    id: int
    channel_url: str
    attempts: int


async def fan_out(
    connection: AsyncConnection, chapter_id: int, *, after: str, limit: int, now: datetime
) -> FanOutPage:
    rows = await connection.execute(
        _FAN_OUT, {"chapter_id": chapter_id, "after": after, "limit": limit, "now": now}
    )
    return FanOutPage(*rows.one())


async def mark_announced(connection: AsyncConnection, chapter_id: int) -> None:
    """Everyone who followed when it came has their row; who follows later is not told of the past."""
    await connection.execute(
        text("update logical_chapter set announce = 'done' where id = :id and announce = 'owed'"),
        {"id": chapter_id},
    )


async def unfinished(connection: AsyncConnection) -> list[tuple[str, int]]:
    """Chapters that are owed to followers, or have messages under way: (series id, chapter id)."""
    rows = await connection.execute(
        text("""select series_id, id from logical_chapter where announce = 'owed'
                union
                select c.series_id, c.id from delivery d join logical_chapter c on c.id = d.chapter_id
                where d.state in ('pending', 'sending')
                order by 2""")
    )
    return [(series_id, chapter_id) for series_id, chapter_id in rows]


async def headline(connection: AsyncConnection, chapter_id: int) -> dict[str, Any] | None:
    """What a message about this chapter says."""
    rows = await connection.execute(
        text("""select series.title as series, c.raw_number as number, c.volume, c.title,
                  (select url from chapter_source s where s.chapter_id = c.id
                   order by (unavailable_at is null) desc, id limit 1) as url
                from logical_chapter c join series on series.id = c.series_id where c.id = :id"""),
        {"id": chapter_id},
    )
    row = rows.mappings().first()
    return dict(row) if row else None


async def doubt_interrupted(connection: AsyncConnection, chapter_id: int) -> list[int]:
    """Deliveries whose sender died between "about to send" and "sent": nobody knows, so never send again."""
    rows = await connection.execute(
        text("""update delivery set state = 'unconfirmed', last_error = 'the sender died while sending'
                where chapter_id = :id and state = 'sending' returning id"""),
        {"id": chapter_id},
    )
    return list(rows.scalars())


async def due(connection: AsyncConnection, chapter_id: int, *, now: datetime, limit: int) -> list[Delivery]:
    rows = await connection.execute(
        text("""select d.id, channel.url, d.attempts from delivery d join channel on channel.id = d.channel_id
                where d.chapter_id = :id and d.state = 'pending' and d.next_attempt_at <= :now
                order by d.id limit :limit"""),
        {"id": chapter_id, "now": now, "limit": limit},
    )
    return [Delivery(*row) for row in rows]


async def next_attempt_at(connection: AsyncConnection, chapter_id: int) -> datetime | None:
    found: datetime | None = await connection.scalar(
        text("select min(next_attempt_at) from delivery where chapter_id = :id and state = 'pending'"),
        {"id": chapter_id},
    )
    return found


async def claim(connection: AsyncConnection, delivery_id: int, now: datetime) -> bool:
    """The intent, committed before the message leaves. False: somebody else has it."""
    result = await connection.execute(
        text("""update delivery set state = 'sending', attempts = attempts + 1, sending_at = :now
                where id = :id and state = 'pending'"""),
        {"id": delivery_id, "now": now},
    )
    return result.rowcount == 1


async def settle(
    connection: AsyncConnection,
    delivery_id: int,
    state: str,
    *,
    now: datetime,
    error: str | None = None,
    next_attempt_at: datetime | None = None,
) -> None:
    await connection.execute(
        text("""update delivery set state = :state, last_error = :error,
                  next_attempt_at = coalesce(cast(:next as timestamptz), next_attempt_at),
                  sent_at = case when :state = 'sent' then cast(:now as timestamptz) end
                where id = :id and state in ('sending', 'unconfirmed')"""),
        {"id": delivery_id, "state": state, "error": error, "next": next_attempt_at, "now": now},
    )


async def requeue(connection: AsyncConnection, delivery_id: int, now: datetime) -> int | None:
    """Put a failed or doubtful delivery back; the chapter it is about, or None when it was not one."""
    chapter_id: int | None = await connection.scalar(
        text("""update delivery set state = 'pending', attempts = 0, next_attempt_at = :now
                where id = :id and state in ('failed', 'unconfirmed') returning chapter_id"""),
        {"id": delivery_id, "now": now},
    )
    return chapter_id


async def discard(connection: AsyncConnection, delivery_id: int) -> None:
    await connection.execute(
        text("""update delivery set state = 'discarded'
                where id = :id and state in ('failed', 'unconfirmed')"""),
        {"id": delivery_id},
    )


async def of_user(connection: AsyncConnection, user_id: str, limit: int) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select n.id, series.title as series, series.id as series_id, c.chapter_key as key, c.title,
                  n.created_at,
                  (select url from chapter_source s where s.chapter_id = c.id order by s.id limit 1) as url,
                  coalesce((select jsonb_agg(jsonb_build_object('state', d.state, 'attempts', d.attempts,
                      'sent_at', d.sent_at, 'error', d.last_error) order by d.id)
                    from delivery d where d.notification_id = n.id), '[]') as deliveries
                from notification n join logical_chapter c on c.id = n.chapter_id
                join series on series.id = c.series_id
                where n.user_id = :user_id order by n.id desc limit :limit"""),
        {"user_id": user_id, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def series_of(connection: AsyncConnection, chapter_id: int) -> str | None:
    found: str | None = await connection.scalar(
        text("select series_id from logical_chapter where id = :id"), {"id": chapter_id}
    )
    return found
