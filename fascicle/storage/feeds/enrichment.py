"""Enrichment of items (I5): the due items and the findings. It fills gaps; a feed's own data stays."""

from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.expression import bindparam

from fascicle.domain.feeds.item_page import EnrichableItem, Enrichment
from fascicle.domain.plain_text import plain_line

_LONGEST_LEAD = 1000
_MOST_ERRORS = 10

_IS_SUMMARISED = (
    "exists (select 1 from request r join summary s on s.request_id = r.id where r.item_id = item.id)"
)

# Safe to repeat: a filled gap is not filled again, and the other columns get the same values.
_RECORD = text(rf"""
update item set
  title = case when title ~* '^\s*((https?://|www\.)\S*)?\s*$' then coalesce(:title, title) else title end,
  author = coalesce(author, :author),
  site_name = coalesce(site_name, :site_name),
  image_url = coalesce(image_url, :image_url),
  duration_seconds = coalesce(duration_seconds, :duration_seconds),
  language = coalesce(language, :language),
  published_at = coalesce(published_at, :published_at),
  lead = case when {_IS_SUMMARISED} then lead else :lead end,
  lead_kind = case when {_IS_SUMMARISED} then lead_kind else :lead_kind end,
  words = :words, reading_minutes = :reading_minutes,
  metadata = :metadata, enrich = 'done', enriched_at = :now
where id = :id and enrich in ('due', 'failed')
""").bindparams(bindparam("metadata", type_=JSONB))


async def due(
    connection: AsyncConnection, *, source_id: str | None, before: datetime, limit: int
) -> list[dict[str, Any]]:
    """Items to enrich, of one feed or of all, longest waiting first: id, title, url."""
    rows = await connection.execute(
        text("""select id, title, url from item
                where enrich = 'due' and enrich_due_at <= :before
                  and (cast(:source_id as text) is null or exists (
                    select 1 from feed_item f where f.item_id = item.id and f.source_id = :source_id))
                order by enrich_due_at, id limit :limit"""),
        {"source_id": source_id, "before": before, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def take_neglected(
    connection: AsyncConnection, *, before: datetime, now: datetime, limit: int
) -> list[dict[str, Any]]:
    """Items that were due before `before`. Their due time becomes `now`, so that others get their turn."""
    rows = await connection.execute(
        text("""update item set enrich_due_at = :now
                where id in (
                  select id from item where enrich = 'due' and enrich_due_at < :before
                  order by enrich_due_at, id limit :limit for update skip locked)
                returning id, title, url"""),
        {"before": before, "now": now, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def load(connection: AsyncConnection, item_id: int) -> EnrichableItem | None:
    rows = await connection.execute(
        text("""select i.id, i.url, i.title, i.summary, i.content, i.media_type, i.duration_seconds,
                  i.language, f.language as feed_language, i.enrich
                from item i left join feed f on f.source_id = i.source_id where i.id = :id"""),
        {"id": item_id},
    )
    row = rows.mappings().first()
    return EnrichableItem.model_validate(dict(row)) if row else None


async def record(connection: AsyncConnection, item_id: int, found: Enrichment, now: datetime) -> bool:
    """False: the item is gone, or was enriched already."""
    values = found.model_dump(exclude={"page", "oembed", "errors", "lead"})
    lead = plain_line(found.lead or "", longest=_LONGEST_LEAD) or None
    result = await connection.execute(
        _RECORD, {**values, "lead": lead, "metadata": _findings(found), "id": item_id, "now": now}
    )
    return result.rowcount == 1


async def keep_summary(connection: AsyncConnection, item_id: int, summary: str, kind: str) -> None:
    """Use a summary that somebody requested as the item's lead; later enrichment does not replace it."""
    await connection.execute(
        text("update item set lead = :lead, lead_kind = :kind where id = :id"),
        {"id": item_id, "lead": plain_line(summary, longest=_LONGEST_LEAD), "kind": kind},
    )


async def put_off(connection: AsyncConnection, item_id: int, until: datetime) -> None:
    """The item's workflow sleeps until then, so nobody else needs to enrich the item before."""
    await connection.execute(
        text("update item set enrich_due_at = :until where id = :id and enrich = 'due'"),
        {"id": item_id, "until": until},
    )


async def give_up(connection: AsyncConnection, item_id: int, now: datetime) -> None:
    await connection.execute(
        text("update item set enrich = 'failed', enriched_at = :now where id = :id and enrich = 'due'"),
        {"id": item_id, "now": now},
    )


async def try_again(connection: AsyncConnection, item_id: int, now: datetime) -> None:
    """Make an item that was given up due again."""
    await connection.execute(
        text("update item set enrich = 'due', enrich_due_at = :now where id = :id and enrich = 'failed'"),
        {"id": item_id, "now": now},
    )


def _findings(found: Enrichment) -> dict[str, Any]:
    """The data of page and service as received; the code that reads each part limits its size."""
    parts = found.model_dump(mode="json", include={"page", "oembed", "errors"}, exclude_none=True)
    parts["errors"] = parts["errors"][:_MOST_ERRORS]
    return parts
