"""After a restore from a backup: actions that may have happened since the backup are not repeated (X1).

A message, a published post or a sale cannot be taken back, and no table says whether it happened after the
backup. So none of them is repeated automatically: each becomes `unconfirmed`, and a person decides.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.expression import bindparam

from fascicle.domain.errors import ErrorRecord
from fascicle.storage.database import settle_doubts

CODE = "database_restored"
_WHY = "the database was restored from a backup, and it may have left since that was made"
_POST_MESSAGE = (
    "The database was restored from a backup: this may have been published since that was made. Look at the "
    "gallery, then: fascicle post resolve"
)
# Skip numbers, so that none is used twice: Temporal and Discord still know ids from the lost time.
_SKIPPED_NUMBERS = 100_000

_POSTS = text("""
with doubted as (
  update post set state = 'unconfirmed', updated_at = now(), waiting_for = null, last_error_code = :code,
    last_error = :message
  where deleted_at is null and (state in ('uploading', 'publishing') or state = 'scheduled' and
    case when planned_for = publish_at then coalesce(due_at, publish_at) else publish_at end <= now())
  returning id, title, account_id
), noted as (
  insert into post_event (post_id, kind, detail)
  select id, 'unconfirmed', jsonb_build_object('code', cast(:code as text), 'why', cast(:message as text))
  from doubted
)
select doubted.id, doubted.title, account.name as account
from doubted join account on account.id = doubted.account_id order by account.name, doubted.title, doubted.id
""")

# Each message also gets the dead letter that `dead-letters replay` needs to send it, in the form that
# activities.notifications.notify writes.
_DELIVERIES = text("""
with doubted as (
  update delivery set state = 'unconfirmed', last_error = :why where state in ('pending', 'sending')
  returning id, chapter_id, job_key
), buried as (
  insert into dead_letter as d (kind, job_key, workflow_id, input, error, error_code, retryable, attempts,
    first_failed_at, last_failed_at)
  select 'deliver', cast(doubted.id as text),
    case when c.id is not null then 'notify-' || c.series_id || '-' || c.id
         when doubted.job_key like 'request-%' then doubted.job_key
         when doubted.job_key is not null then 'fic-' || doubted.job_key else 'digests' end,
    jsonb_build_object('chapter_id', doubted.chapter_id, 'job_key', doubted.job_key,
      'delivery_id', doubted.id),
    :error, :error_code, false, 1, now(), now()
  from doubted left join logical_chapter c on c.id = doubted.chapter_id
  on conflict (kind, job_key) where state = 'open' do update set
    input = excluded.input, error = excluded.error, error_code = excluded.error_code,
    retryable = excluded.retryable, attempts = d.attempts + excluded.attempts,
    occurrences = d.occurrences + 1, last_failed_at = excluded.last_failed_at
)
select count(*) from doubted
""").bindparams(bindparam("error", type_=JSONB))

_MAIL = text("""
update mail set state = 'unconfirmed', last_error = :why where state in ('pending', 'sending')
""")

# Disable automations: the drafts that they picked since the backup are unknown.
_AUTOMATIONS = text("""
update automation a set enabled = false from account where account.id = a.account_id and a.enabled
returning a.id, a.name, account.name as account
""")

# A post that is, or may be, published may be on sale already; other sales wait for their posts as before.
_SALES = text("""
update sale set state = 'failed', claim = null, last_error = :why, settled_at = now()
from post where post.id = sale.post_id and post.state in ('published', 'unconfirmed')
  and sale.state in ('waiting', 'ready', 'claimed')
""")

_SKIP_NUMBERS = text("""
select count(setval(numbers, last + greatest(last, :skipped))) from (
  select numbers, coalesce(pg_sequence_last_value(numbers), 0) as last from (
    select cast(pg_get_serial_sequence(name, 'id') as regclass) as numbers
    from unnest(cast(:tables as text[])) as name) as named) as counted
""")

# Read all chapters of these sources again, as history; only later chapters are news
# (activities.series.backfill). Feeds are left out: their inboxes were restored with the database.
_SOURCES = text("""
update source set first_synced_at = null, announce_history = false, last_success_at = now(),
  next_check_at = case circuit when 'closed' then null else next_check_at end
where series_id is not null and removed_at is null
""")

_OWED = text("""
update logical_chapter set announce = case when announced_at is null then 'silent' else 'done' end
where announce = 'owed'
""")

_DIGESTS = text("""
update notification set mode = 'dropped'
where digest_id is null and mode in ('hourly', 'daily') and digest_at <= now()
""")

_REMAINS = {
    "posts_to_come": "select count(*) from post where state = 'scheduled' and deleted_at is null",
    "requests_under_way": "select count(*) from request where status in ('pending', 'running')",
    "fics_under_way": "select count(*) from fic_job where state in ('pending', 'processing')",
}


@dataclass
class Doubts:
    """Work that was stopped, and work that continues and may be done a second time."""

    posts: list[dict[str, Any]] = field(default_factory=list)
    messages: int = 0
    mails: int = 0
    automations: list[dict[str, Any]] = field(default_factory=list)
    sales: int = 0
    sources_read_anew: int = 0
    chapters_silenced: int = 0
    posts_to_come: int = 0
    requests_under_way: int = 0
    fics_under_way: int = 0
    accounts: list[str] = field(default_factory=list)
    """Accounts whose tokens may have been renewed since the backup: the restored tokens are then invalid."""


async def doubt_what_may_have_happened(connection: AsyncConnection, *, silent: bool) -> Doubts:
    """Call this in a transaction, before any worker runs. Safe to repeat.

    `silent`: do not announce chapters that came out until now; people may have been notified already.
    """
    doubts = Doubts()
    doubts.posts = await _rows(connection, _POSTS, code=CODE, message=_POST_MESSAGE)
    error = ErrorRecord(
        error_type="DeliveryError",
        error_code="delivery_unconfirmed",
        message=f"The message may or may not have arrived: {_WHY}",
        retryable=False,
    )
    letters = {"error": error.model_dump(mode="json"), "error_code": error.error_code, "why": _WHY}
    doubts.messages = int(await connection.scalar(_DELIVERIES, letters) or 0)
    doubts.mails = await _count(connection, _MAIL, why=_WHY)
    doubts.automations = await _rows(connection, _AUTOMATIONS)
    doubts.sales = await _count(connection, _SALES, why=_WHY)
    if silent:
        doubts.sources_read_anew = await _count(connection, _SOURCES)
        doubts.chapters_silenced = await _count(connection, _OWED) + await _count(connection, _DIGESTS)
    skipped = {"tables": await _numbered_tables(connection), "skipped": _SKIPPED_NUMBERS}
    await connection.execute(_SKIP_NUMBERS, skipped)
    for name, query in _REMAINS.items():
        setattr(doubts, name, int(await connection.scalar(text(query)) or 0))
    names = await connection.scalars(text("select name from account where paused_at is null order by name"))
    doubts.accounts = list(names)
    await settle_doubts(connection)
    return doubts


async def to_read_anew(connection: AsyncConnection, limit: int) -> list[str]:
    """Sources whose workflows were not notified yet: those sleep until the poll that was due before."""
    rows = await connection.scalars(
        text("""select id from source where series_id is not null and removed_at is null and paused_at is null
                  and circuit = 'closed' and first_synced_at is null and last_success_at is not null
                  and next_check_at is null
                order by id limit :limit"""),
        {"limit": limit},
    )
    return list(rows)


async def told_to_read_anew(connection: AsyncConnection, source_id: str) -> None:
    """Mark the source's workflow as notified: a signal every minute would never let it begin a new run."""
    await connection.execute(
        text("update source set next_check_at = now() where id = :id and next_check_at is null"),
        {"id": source_id},
    )


async def _numbered_tables(connection: AsyncConnection) -> list[str]:
    found = await connection.scalars(
        text("""select table_name from information_schema.columns
        where table_schema = current_schema and column_name = 'id' and is_identity = 'YES' order by 1""")
    )
    return list(found)


async def _rows(connection: AsyncConnection, statement: Any, **values: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in (await connection.execute(statement, values)).mappings()]


async def _count(connection: AsyncConnection, statement: Any, **values: Any) -> int:
    return int((await connection.execute(statement, values)).rowcount)
