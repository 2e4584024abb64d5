"""Notices to subscribers: one notice per person and event, one delivery per channel (F4, F5)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

FIC_CHANNEL = "fics"
# A waiting client has this long to confirm that it received the answer; after that the message is sent.
_HEARD_WITHIN = timedelta(seconds=10)

_NOTIFY = text("""
with event as (
  select cast(:key as text) as key, cast(:round as integer) as round, cast(:event as text) as event,
    cast(:title as text) as title, cast(:body as text) as body, cast(:now as timestamptz) as now
), subscribed as (
  select s.user_id, s.waits_until from fic_subscriber s
  join event on s.job_key = key and s.round = event.round
), noticed as (
  insert into notice (job_key, round, event, user_id, title, body, created_at)
  select key, round, event, user_id, title, body, now from event, (
    select user_id from subscribed
    union all select null from channel where purpose = :purpose) as people
  on conflict do nothing returning id, user_id
)
insert into delivery (notice_id, job_key, channel_id, next_attempt_at)
select n.id, key, c.id,
  greatest(now, s.waits_until + cast(:heard_within as interval))
from event, noticed n left join subscribed s on s.user_id = n.user_id
join channel c on c.user_id = n.user_id or (n.user_id is null and c.purpose = :purpose)
on conflict (notice_id, channel_id) do nothing
""")


# A later event makes the `start` message obsolete.
_DROP_START = text("""
update delivery d set state = 'discarded' from notice n
where n.id = d.notice_id and n.job_key = :key and n.round = :round and n.event = 'start'
  and d.job_key = :key and d.state = 'pending'
""")


async def notify(
    connection: AsyncConnection, key: str, round_: int, event: str, *, title: str, body: str, now: datetime
) -> None:
    """Owe one message each to everyone who waits for this round, and to the community's channel."""
    if event != "start":
        await connection.execute(_DROP_START, {"key": key, "round": round_})
    await connection.execute(
        _NOTIFY,
        {"key": key, "round": round_, "event": event, "title": title, "body": body, "now": now}
        | {"purpose": FIC_CHANNEL, "heard_within": _HEARD_WITHIN},
    )
