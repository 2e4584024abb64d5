"""Notifications and deliveries: one row per follower and chapter, and one per channel of a follower (C8)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fascicle.storage.notifications.channel import StoredAddress
from fascicle.storage.series.reader_wishes import IS_READ, LINK, WANTED_LANGUAGES
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

FOLLOWERS_PER_PAGE = 1000
# No sender needs longer to hand a message over; one that has not reported by then is dead.
SENDING_TAKES = timedelta(minutes=2)

# The cap is counted and then used: lock the page's followers, so that only one chapter counts at a time.
_LOCK = text("""
select 1 from app_user where id in (
  select e.user_id from library_entry e join logical_chapter c on c.series_id = e.series_id
  where c.id = :chapter_id and e.notify and e.user_id > :after order by e.user_id limit :limit)
order by id for no key update
""")

# One statement per page of followers. A crash between pages is harmless: the constraints make it idempotent.
# When a chapter comes in another language, only followers who could not read it before are notified.
_FAN_OUT = text(f"""
with page as (
  select e.user_id, coalesce(e.mode, u.mode) as mode, u.time_zone, u.digest_hour,
    coalesce(u.daily_cap, :cap) as cap, {IS_READ} as is_read, c.announced_at, e.created_at as followed_at,
    (select min(up.first_seen_at) from chapter_source s
     join chapter_upload up on up.source_id = s.source_id and up.chapter_key = s.chapter_key
     where s.chapter_id = c.id
       and ({WANTED_LANGUAGES} is null or up.language is null or up.language = any({WANTED_LANGUAGES}))
    ) as readable_since
  from library_entry e join logical_chapter c on c.series_id = e.series_id
  join series on series.id = c.series_id join app_user u on u.id = e.user_id
  where c.id = :chapter_id and c.announce = 'owed' and e.notify and e.user_id > :after
  order by e.user_id limit :limit
), willing as (
  select user_id, time_zone, digest_hour,
    case when mode = 'immediate' and cap <= (
           select count(*) from notification n where n.user_id = page.user_id and n.mode = 'immediate'
             and n.created_at > cast(:now as timestamptz) - interval '24 hours')
         then 'daily' else mode end as mode
  from page
  where mode <> 'off' and not is_read and readable_since is not null
    and (announced_at is null or readable_since >= greatest(announced_at, followed_at))
), told as (
  insert into notification (user_id, chapter_id, mode, digest_at, created_at)
  select user_id, :chapter_id, mode,
    case mode when 'hourly' then date_trunc('hour', cast(:now as timestamptz)) + interval '1 hour'
              when 'daily' then (
                select min(morning) from (
                  select (date_trunc('day', cast(:now as timestamptz) at time zone time_zone)
                          + make_interval(days => day, hours => digest_hour)) at time zone time_zone
                         as morning
                  from generate_series(0, 2) as day) as mornings
                where morning > :now) end,
    :now
  from willing
  on conflict (chapter_id, user_id) do nothing returning id, user_id, mode
), queued as (
  insert into delivery (notification_id, channel_id, chapter_id, next_attempt_at)
  select told.id, channel.id, :chapter_id, :now from told join channel using (user_id)
  where told.mode = 'immediate'
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
    """A message that is due: its channel, and its content as the reader wants to see it."""

    id: int
    channel_url: str = field(repr=False)
    """As stored: sealed, or clear from an earlier version."""
    channel_owner: str
    attempts: int
    digest_id: int | None = None
    series: str = ""
    number: str | None = None
    title: str | None = None
    link: str | None = None
    body: str | None = None
    """The text of a notice, which is stored ready to send."""

    @property
    def address(self) -> StoredAddress:
        return StoredAddress(self.channel_owner, self.channel_url)


# A chapter's id or a job's key; None: all digests.
About = int | str | None


async def fan_out(
    connection: AsyncConnection, chapter_id: int, *, after: str, limit: int, cap: int, now: datetime
) -> FanOutPage:
    """Write rows for one page of followers: immediate, for a digest, or none if there is nothing to tell.

    A follower who had `cap` messages within a day gets the rest as a digest.
    """
    page = {"chapter_id": chapter_id, "after": after, "limit": limit}
    await connection.execute(_LOCK, page)
    rows = await connection.execute(_FAN_OUT, {**page, "cap": cap, "now": now})
    return FanOutPage(*rows.one())


async def owed_round(connection: AsyncConnection, chapter_id: int) -> int:
    found: int | None = await connection.scalar(
        text("select owed_round from logical_chapter where id = :id"), {"id": chapter_id}
    )
    return found or 0


async def mark_announced(
    connection: AsyncConnection, chapter_id: int, owed_round: int, now: datetime
) -> bool:
    """Mark the chapter as told: every present follower has a row, and later followers get no old news.

    False: the chapter became owed again after `owed_round` was read.
    """
    result = await connection.execute(
        text("""update logical_chapter
                set announce = case announce when 'owed' then 'done' else announce end,
                    announced_at = case announce when 'owed' then :now else announced_at end
                where id = :id and owed_round = :round"""),
        {"id": chapter_id, "round": owed_round, "now": now},
    )
    return result.rowcount > 0


# Find new languages of chapters first; only if there are any, check whether a follower waits for one.
_OWE_NEW_LANGUAGES = text(f"""
with fresh as (
  select c.id, array_agg(up.language) as languages from logical_chapter c
  cross join lateral (
    select up.language from chapter_source s
    join chapter_upload up on up.source_id = s.source_id and up.chapter_key = s.chapter_key
    where s.chapter_id = c.id and up.language is not null
    group by up.language having min(up.first_seen_at) = :now) as up
  where c.series_id = :series_id and c.chapter_key = any(cast(:keys as text[]))
  group by c.id
)
update logical_chapter c set announce = 'owed', owed_round = owed_round + 1,
  owed_at = case announce when 'owed' then owed_at else :now end,
  -- Stays null until the first announcement is done.
  announced_at = case when announce = 'owed' and announced_at is null then null
                      else least(announced_at, :now) end
from fresh
where c.id = fresh.id and exists (
  select 1 from library_entry e join app_user u on u.id = e.user_id
  where e.series_id = c.series_id and e.notify and {WANTED_LANGUAGES} && fresh.languages
    and not exists (select 1 from notification n where n.chapter_id = c.id and n.user_id = e.user_id))
""")


async def owe_new_languages(
    connection: AsyncConnection, series_id: str, keys: Collection[str], now: datetime
) -> bool:
    """Make a chapter owed again if its first upload in some follower's language came at `now`."""
    if not keys:
        return False
    result = await connection.execute(
        _OWE_NEW_LANGUAGES, {"series_id": series_id, "keys": list(keys), "now": now}
    )
    return result.rowcount > 0


async def unfinished(
    connection: AsyncConnection, *, before: datetime | None = None, limit: int | None = None
) -> list[tuple[str, int]]:
    """Chapters that are owed to followers, or have unsettled messages: (series id, chapter id).

    `before`: only those that were owed, or due, before then.
    """
    rows = await connection.execute(
        text("""select series_id, id from logical_chapter
                where announce = 'owed'
                  and coalesce(owed_at, '-infinity') < coalesce(cast(:before as timestamptz), 'infinity')
                union
                select c.series_id, c.id from delivery d join logical_chapter c on c.id = d.chapter_id
                where d.state in ('pending', 'sending')
                  and d.next_attempt_at < coalesce(cast(:before as timestamptz), 'infinity')
                order by 2 limit :limit"""),
        {"before": before, "limit": limit},
    )
    return [(series_id, chapter_id) for series_id, chapter_id in rows]


async def doubt_interrupted(
    connection: AsyncConnection, about: About, *, began_before: datetime | None = None
) -> list[int]:
    """Mark deliveries whose sender died between "about to send" and "sent": they are never sent again.

    `began_before`: spare senders that began later than this; they may be alive.
    """
    rows = await connection.execute(
        text(f"""update delivery d set state = 'unconfirmed', last_error = 'the sender died while sending'
                where {_subject(about)} and state = 'sending'
                  and coalesce(sending_at, '-infinity') < coalesce(cast(:before as timestamptz), 'infinity')
                returning id"""),
        {"id": about, "before": began_before},
    )
    return list(rows.scalars())


async def due(connection: AsyncConnection, about: About, *, now: datetime, limit: int) -> list[Delivery]:
    """Messages to send by now."""
    rows = await connection.execute(
        text(f"""select d.id, channel.url as channel_url,
                  coalesce(channel.user_id, channel.purpose) as channel_owner, d.attempts, d.digest_id,
                  coalesce(series.title, '') as series, c.raw_number as number, {LINK} as link,
                  coalesce(c.title, f.title) as title, f.body
                from delivery d join channel on channel.id = d.channel_id
                left join notice f on f.id = d.notice_id
                left join logical_chapter c on c.id = d.chapter_id
                left join series on series.id = c.series_id
                left join app_user u on u.id = channel.user_id
                left join library_entry e on e.user_id = channel.user_id and e.series_id = c.series_id
                where {_subject(about)} and d.state = 'pending' and d.next_attempt_at <= :now
                order by d.id limit :limit"""),
        {"id": about, "now": now, "limit": limit},
    )
    return [Delivery(**row) for row in rows.mappings()]


async def next_attempt_at(connection: AsyncConnection, about: About, now: datetime) -> datetime | None:
    """When to check next: a message is due then, or another sender may have finished.

    A sender is checked again when its running time has doubled, and at the latest when it counts as dead.
    """
    found: datetime | None = await connection.scalar(
        text(f"""select min(case state when 'pending' then next_attempt_at
                   else least(sending_at + cast(:takes as interval),
                              cast(:now as timestamptz) + greatest(:now - sending_at, interval '1 second'))
                   end)
                from delivery d where {_subject(about)} and state in ('pending', 'sending')"""),
        {"id": about, "takes": SENDING_TAKES, "now": now},
    )
    return found


async def unsettled_at(connection: AsyncConnection, about: About) -> datetime | None:
    """Like `next_attempt_at`, for the only sender: a delivery still in `sending` was interrupted."""
    found: datetime | None = await connection.scalar(
        text(f"""select min(next_attempt_at) from delivery d
                where {_subject(about)} and state in ('pending', 'sending')"""),
        {"id": about},
    )
    return found


def _subject(about: About) -> str:
    if about is None:
        return "d.digest_id is not null"
    return "d.job_key = :id" if isinstance(about, str) else "d.chapter_id = :id"


async def claim(connection: AsyncConnection, delivery_id: int, now: datetime) -> bool:
    """Write the intent; commit it before the message leaves. False: another sender has it."""
    result = await connection.execute(
        text("""update delivery set state = 'sending', attempts = attempts + 1, sending_at = :now
                where id = :id and state = 'pending'"""),
        {"id": delivery_id, "now": now},
    )
    return result.rowcount == 1


async def settle_unsent(
    connection: AsyncConnection,
    delivery_id: int,
    state: str,
    *,
    error: str | None,
    next_attempt_at: datetime,
) -> None:
    """The message was refused, or its arrival is unknown."""
    await connection.execute(
        text("""update delivery set state = :state, last_error = :error,
                  next_attempt_at = cast(:next as timestamptz)
                where id = :id and state in ('sending', 'unconfirmed')"""),
        {"id": delivery_id, "state": state, "error": error, "next": next_attempt_at},
    )


async def settle_sent(connection: AsyncConnection, delivery_id: int, now: datetime) -> None:
    """The message left; the same statement resolves the dead letter of an earlier attempt."""
    await connection.execute(
        text("""with sent as (
                  update delivery set state = 'sent', last_error = null, sent_at = cast(:now as timestamptz)
                  where id = :id and state in ('sending', 'unconfirmed'))
                update dead_letter set state = 'resolved', settled_at = cast(:now as timestamptz)
                where kind = 'deliver' and job_key = cast(cast(:id as bigint) as text) and state = 'open'"""),
        {"id": delivery_id, "now": now},
    )


async def requeue(connection: AsyncConnection, delivery_id: int, now: datetime) -> int | None:
    """Queue a failed or unconfirmed delivery again; returns its chapter, or None if it has none."""
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
                  n.created_at, n.mode, n.digest_at,
                  (select url from chapter_source s where s.chapter_id = c.id order by s.id limit 1) as url,
                  coalesce((select jsonb_agg(jsonb_build_object('state', d.state, 'attempts', d.attempts,
                      'sent_at', d.sent_at, 'error', d.last_error) order by d.id)
                    from delivery d where d.notification_id = n.id or d.digest_id = n.digest_id), '[]')
                    as deliveries
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
