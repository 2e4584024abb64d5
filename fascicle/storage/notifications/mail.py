"""Pending mail: written in the transaction of its event, sent later, at most once (P6).

The intent is committed before a mail leaves. If the sender dies before it reports, the outcome is unknown:
such a mail is `unconfirmed` and is never sent again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from fascicle.storage.notifications.channel import StoredAddress
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# Longer than any sending should take; a sender that reports later than this still settles its mail.
_SENDER_IS_GONE = timedelta(minutes=1)


@dataclass(frozen=True)
class ClaimedMail:
    id: int
    subject: str
    body: str
    attempts: int
    """This one included."""
    email: str | None
    owner: str | None
    channels: list[str] = field(repr=False)
    """The stored addresses of the account's owner."""

    @property
    def addresses(self) -> list[StoredAddress]:
        return [StoredAddress(self.owner or "", stored) for stored in self.channels]


async def write_mail(
    connection: AsyncConnection,
    *,
    account_id: str,
    post_id: str | None = None,
    kind: str,
    dedup_key: str,
    subject: str,
    body: str,
) -> bool:
    """Add a pending mail. False: there is one for this `dedup_key` already."""
    written = await connection.scalar(
        text("""insert into mail (account_id, post_id, kind, dedup_key, subject, body)
                values (:account_id, :post_id, :kind, :dedup_key, :subject, :body)
                on conflict (dedup_key) do nothing returning id"""),
        {"account_id": account_id, "post_id": post_id, "kind": kind, "dedup_key": dedup_key}
        | {"subject": subject, "body": body},
    )
    return written is not None


async def claim_next(connection: AsyncConnection) -> ClaimedMail | None:
    """Claim a mail that is due; commit before sending it."""
    row = await connection.execute(
        text("""
            with taken as (
              update mail set state = 'sending', sending_at = clock_timestamp(), attempts = attempts + 1
              where id = (select id from mail where state = 'pending' and next_attempt_at <= clock_timestamp()
                          order by next_attempt_at, id limit 1 for update skip locked)
              returning id, subject, body, attempts, account_id)
            select t.id, t.subject, t.body, t.attempts, u.email, u.id as owner,
              coalesce((select array_agg(c.url order by c.id) from channel c where c.user_id = u.id), '{}')
              as channels
            from taken t left join account a on a.id = t.account_id
              left join app_user u on u.id = a.user_id""")
    )
    found = row.mappings().first()
    return None if found is None else ClaimedMail(**found)


async def settle(
    connection: AsyncConnection, mail_id: int, state: str, *, error: str | None, retry_seconds: float
) -> None:
    """Store the outcome, also if the mail was marked `unconfirmed` meanwhile."""
    await connection.execute(
        text("""update mail set state = :state, last_error = :error, sending_at = null,
                  sent_at = case when :state = 'sent' then clock_timestamp() end,
                  next_attempt_at = clock_timestamp() + make_interval(secs => :retry_seconds)
                where id = :id and state in ('sending', 'unconfirmed')"""),
        {"id": mail_id, "state": state, "error": error, "retry_seconds": retry_seconds},
    )


async def doubt_interrupted(connection: AsyncConnection) -> int:
    doubted = await connection.execute(
        text("""update mail set state = 'unconfirmed', last_error = 'the sender died while it sent this'
                where state = 'sending' and sending_at < clock_timestamp() - cast(:gone as interval)"""),
        {"gone": _SENDER_IS_GONE},
    )
    return doubted.rowcount


async def seconds_until_next(connection: AsyncConnection) -> float | None:
    """Seconds until the next mail is due; None: nothing is pending."""
    seconds = await connection.scalar(
        text("""select extract(epoch from min(next_attempt_at) - clock_timestamp())::float8 from mail
                where state = 'pending'""")
    )
    return None if seconds is None else max(0.0, float(seconds))


async def needs_a_sender(connection: AsyncConnection) -> bool:
    """True if a mail is due, or the sender of one died."""
    found = await connection.scalar(
        text("""select exists (select 1 from mail
                  where state = 'pending' and next_attempt_at <= clock_timestamp()
                     or state = 'sending' and sending_at < clock_timestamp() - cast(:gone as interval))"""),
        {"gone": _SENDER_IS_GONE},
    )
    return bool(found)


async def undelivered(connection: AsyncConnection) -> dict[str, int]:
    """The number of undelivered mails by state; they are not sent again."""
    rows = await connection.execute(
        text("""select state, count(*) as mails from mail where state in ('failed', 'unconfirmed')
                group by state""")
    )
    return {row.state: row.mails for row in rows}
