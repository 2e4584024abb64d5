"""Totals, and events since a given moment, for people who watch the installation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fascicle.domain.names import FEED_SITE
from fascicle.domain.summaries.request import FOR_A_PERSON
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


async def totals(connection: AsyncConnection, *, told_within_seconds: float) -> dict[str, Any]:
    rows = await connection.execute(
        text("""select
            (select count(*) from source where removed_at is null) as sources,
            (select count(*) from source where removed_at is null and paused_at is not null) as paused,
            (select count(*) from source where removed_at is null and circuit <> 'closed') as circuits_open,
            (select count(*) from series) as series,
            (select count(*) from logical_chapter) as chapters,
            (select count(*) from logical_chapter where announce = 'owed') as chapters_owed,
            (select count(*) from logical_chapter where announce = 'owed'
               and coalesce(owed_at, '-infinity')
                   < clock_timestamp() - make_interval(secs => :told_within)) as chapters_overdue,
            (select count(*) from app_user) as users,
            (select count(*) from notification) as notifications,
            (select count(*) from delivery where state = 'sent') as deliveries_sent,
            (select count(*) from delivery where state in ('pending', 'sending')) as deliveries_pending,
            (select count(*) from delivery where state = 'unconfirmed') as deliveries_unconfirmed,
            (select count(*) from delivery where state = 'failed') as deliveries_failed"""),
        {"told_within": told_within_seconds},
    )
    return dict(rows.mappings().one())


async def feed_totals(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(
        text("""select count(*) as feeds,
                  (select count(*) from subscription where state = 'ACTIVE') as subscriptions,
                  (select count(*) from inbox_item where state = 'INBOX') as inbox,
                  count(*) filter (where failure_count > 0) as failing
                from source where site = :site and removed_at is null"""),
        {"site": FEED_SITE},
    )
    return dict(rows.mappings().one())


async def open_circuits(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select id, title, site, last_error_code, last_error, next_check_at from source
                where removed_at is null and circuit <> 'closed' order by site, title""")
    )
    return [dict(row) for row in rows.mappings()]


async def gates(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select name, delay_seconds, failures,
                  case when blocked_until > clock_timestamp() then blocked_until end as blocked_until,
                  case when blocked_until > clock_timestamp() then blocked_reason end as blocked_reason,
                  paused_at, paused_reason
                from gate order by name""")
    )
    return [dict(row) for row in rows.mappings()]


async def posts_by_state(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(
        text(
            "select state, count(*) as posts from post where deleted_at is null group by state order by state"
        )
    )
    return {row.state: row.posts for row in rows}


async def posts_waiting(connection: AsyncConnection) -> list[dict[str, Any]]:
    """The reasons why posts that should be on their way still wait."""
    rows = await connection.execute(
        text("""select waiting_for, count(*) as posts from post
                where state in ('uploading', 'publishing') and waiting_for is not null and deleted_at is null
                group by waiting_for order by count(*) desc limit 10""")
    )
    return [dict(row) for row in rows.mappings()]


async def requests_by_status(connection: AsyncConnection) -> dict[str, int]:
    rows = await connection.execute(text("select status, count(*) as requests from request group by 1"))
    return {row["status"]: row["requests"] for row in rows.mappings()}


async def requests_for_a_person(
    connection: AsyncConnection, long_wait: timedelta = timedelta(minutes=10)
) -> list[dict[str, Any]]:
    """Requests of the last day that failed for a reason a person can fix, by code, and long waiting ones."""
    rows = await connection.execute(
        text("""select error->>'error_code' as code, count(*) as requests, max(error->>'message') as why,
                  cast(null as timestamptz) as until
                from request where status = 'failed' and finished_at > now() - interval '1 day'
                  and error->>'error_code' = any(cast(:codes as text[])) group by 1
                union all
                select null, count(*), waiting_for, min(not_before) from request
                where status = 'pending' and not_before > now() + cast(:long_wait as interval)
                group by waiting_for
                order by 2 desc limit 10"""),
        {"codes": list(FOR_A_PERSON), "long_wait": long_wait},
    )
    return [dict(row) for row in rows.mappings()]


async def posts_for_a_person(connection: AsyncConnection) -> list[dict[str, Any]]:
    """Posts that may or may not be published, and posts that failed."""
    rows = await connection.execute(
        text("""select p.id, p.state, p.title, a.name as account, p.last_error_code, p.last_error
                from post p join account a on a.id = p.account_id
                where p.state in ('unconfirmed', 'failed') and p.deleted_at is null
                order by p.state desc, p.updated_at desc limit 100""")
    )
    return [dict(row) for row in rows.mappings()]


@dataclass
class Watermark:
    """How far a watcher has read."""

    chapter_id: int
    synced: set[str]
    sent_at: datetime
    published_at: datetime
    run_id: int


async def watermark(connection: AsyncConnection) -> Watermark:
    rows = await connection.execute(
        text("""select (select coalesce(max(id), 0) from logical_chapter),
                  (select coalesce(max(id), 0) from ingestion_run), clock_timestamp()""")
    )
    chapter_id, run_id, now = rows.one()
    synced = await connection.execute(text(f"select id from source where {_JUST_SYNCED}"))
    return Watermark(chapter_id, set(synced.scalars()), now, now, run_id)


# `first_synced_at` is when the sync began, so a later sync may have an earlier time: compare ids instead.
_JUST_SYNCED = "first_synced_at > clock_timestamp() - interval '15 minutes'"


async def synced_besides(connection: AsyncConnection, seen: set[str]) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text(f"""select id, title, site, first_synced_at,
                  (select count(*) from chapter_source where source_id = source.id) as chapters,
                  (select count(*) from feed_item where source_id = source.id) as entries
                from source where {_JUST_SYNCED} and id <> all(cast(:seen as text[]))
                order by first_synced_at"""),
        {"seen": list(seen)},
    )
    return [dict(row) for row in rows.mappings()]


async def chapters_since(connection: AsyncConnection, chapter_id: int) -> list[dict[str, Any]]:
    """Chapters after `chapter_id`, in the order they came."""
    rows = await connection.execute(
        text("""select c.id, c.announce, series.title as series, c.raw_number as number, c.title
                from logical_chapter c join series on series.id = c.series_id
                where c.id > :id order by c.id limit 1000"""),
        {"id": chapter_id},
    )
    return [dict(row) for row in rows.mappings()]


async def published_since(connection: AsyncConnection, since: datetime) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select f.published_at, p.title, a.name as account, f.url
                from post_file f join post p on p.id = f.post_id join account a on a.id = p.account_id
                where f.published_at > :since order by f.published_at limit 1000"""),
        {"since": since},
    )
    return [dict(row) for row in rows.mappings()]


async def sent_since(connection: AsyncConnection, since: datetime) -> list[dict[str, Any]]:
    """Messages that were sent: about a chapter, about a job, or a digest with its number of chapters."""
    rows = await connection.execute(
        text("""select d.sent_at, u.name as user, series.title as series, c.raw_number as number,
                  (select count(*) from notification line where line.digest_id = d.digest_id) as digest_lines,
                  f.title as notice, d.job_key
                from delivery d join channel on channel.id = d.channel_id
                left join app_user u on u.id = channel.user_id
                left join notice f on f.id = d.notice_id
                left join logical_chapter c on c.id = d.chapter_id
                left join series on series.id = c.series_id
                where d.sent_at > :since and d.state = 'sent' order by d.sent_at limit 1000"""),
        {"since": since},
    )
    return [dict(row) for row in rows.mappings()]


async def delivered_since(connection: AsyncConnection, run_id: int) -> list[dict[str, Any]]:
    """Items that runs after `run_id` put into inboxes, found by their arrival during the run."""
    rows = await connection.execute(
        text("""select run.id as run_id, u.name as user, item.title, coalesce(s.title, source.title) as feed
                from ingestion_run run
                join inbox_item i on i.source_id = run.source_id
                  and i.arrived_at between run.started_at and run.finished_at
                join item on item.id = i.item_id join app_user u on u.id = i.user_id
                join source on source.id = run.source_id
                left join subscription s on s.user_id = i.user_id and s.source_id = i.source_id
                where run.id > :id and run.delivered > 0
                order by run.id, item.published_at nulls first, item.id, u.name limit 1000"""),
        {"id": run_id},
    )
    return [dict(row) for row in rows.mappings()]
