"""Digests: one message per hour or per day with all notifications of a person (C8)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.storage.series.reader_wishes import IS_READ, LINK

# One statement writes a digest, its lines and its deliveries: a crash leaves all of them or none. Chapters
# that were read meanwhile, or are no longer followed, are dropped. Locked rows belong to another run, which
# was declared dead too early.
_COMPOSE = text(f"""
with waiting as (
  select distinct user_id, mode from notification
  where digest_id is null and mode in ('hourly', 'daily') and digest_at <= :now
  order by user_id limit :limit
), due as (
  select n.id, n.user_id, n.mode,
    e.user_id is null or not e.notify or coalesce(e.mode, u.mode) = 'off' or {IS_READ} as pointless
  from notification n join waiting using (user_id, mode) join app_user u on u.id = n.user_id
  join logical_chapter c on c.id = n.chapter_id join series on series.id = c.series_id
  left join library_entry e on e.user_id = n.user_id and e.series_id = c.series_id
  where n.digest_id is null and n.digest_at <= :now
  for update of n skip locked
), dropped as (
  update notification set mode = 'dropped' where id in (select id from due where pointless)
), composed as (
  insert into digest (user_id, mode, created_at)
  select distinct user_id, mode, cast(:now as timestamptz) from due where not pointless
  returning id, user_id, mode
), lines as (
  update notification n set digest_id = composed.id from due join composed using (user_id, mode)
  where n.id = due.id and not due.pointless
), queued as (
  insert into delivery (digest_id, channel_id, next_attempt_at)
  select composed.id, channel.id, :now from composed join channel using (user_id)
)
select (select count(*) from waiting), (select count(*) from composed)
""")


@dataclass(frozen=True)
class DigestLine:
    digest_id: int
    series: str
    number: str | None
    title: str | None
    link: str | None


async def compose(connection: AsyncConnection, now: datetime, *, limit: int) -> tuple[int, int]:
    """Write digests that are due, for up to `limit` people and modes. Returns (waiting, digests written)."""
    rows = await connection.execute(_COMPOSE, {"now": now, "limit": limit})
    waiting, composed = rows.one()
    return waiting, composed


async def any_unfinished(connection: AsyncConnection) -> bool:
    found = await connection.scalar(
        text("""select 1 from delivery where digest_id is not null and state in ('pending', 'sending')
                limit 1""")
    )
    return found is not None


async def lines(connection: AsyncConnection, digest_ids: Collection[int]) -> list[DigestLine]:
    rows = await connection.execute(
        text(f"""select n.digest_id, series.title as series, c.raw_number as number, c.title, {LINK} as link
                from notification n join logical_chapter c on c.id = n.chapter_id
                join series on series.id = c.series_id join app_user u on u.id = n.user_id
                left join library_entry e on e.user_id = n.user_id and e.series_id = c.series_id
                where n.digest_id = any(cast(:ids as bigint[]))
                order by series.title, c.number nulls last, n.id"""),
        {"ids": list(digest_ids)},
    )
    return [DigestLine(**row) for row in rows.mappings()]
