"""Items (I2–I4): what was seen in a feed, the one item behind it, and who has it in their inbox.

The functions here make up one transaction: seen, item and inbox rows come about together or not at all.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.feed_news import Listed, Seen


@dataclass
class ItemRow:
    """An entry as it is stored: harmless, and with what is decided about it."""

    key: str
    url_key: str | None
    title_key: str
    content_hash: str
    published_at: datetime | None
    title: str
    url: str | None
    summary: str | None
    content: str | None
    author: str | None
    image_url: str | None
    media_url: str | None
    media_type: str | None
    duration_seconds: int | None
    language: str | None
    categories: list[str]
    provider: str | None
    provider_item_id: str | None
    claims_url: bool
    """Its address is its own: another feed's entry with the same address is the same item."""
    silent: bool
    item_id: int | None = None
    """The item it is already known to be."""

    def values(self) -> dict[str, Any]:
        values = vars(self).copy()
        values["published_at"] = self.published_at and self.published_at.isoformat()
        values["item_url_key"] = self.url_key if self.claims_url else None
        return values


_SEEN = "item_key, item_id, url_key, title_key, content_hash, published_at"


async def seen_under(connection: AsyncConnection, source_id: str, keys: Collection[str]) -> dict[str, Seen]:
    rows = await connection.execute(
        text(f"select {_SEEN} from feed_item where source_id = :id and item_key = any(:keys)"),
        {"id": source_id, "keys": list(keys)},
    )
    return {row[0]: Seen(*row) for row in rows}


async def seen_alike(connection: AsyncConnection, source_id: str, entries: Iterable[Listed]) -> list[Seen]:
    """What was seen in this feed under the address or the title of one of the entries."""
    listed = list(entries)
    rows = await connection.execute(
        text(f"""select {_SEEN} from feed_item where source_id = :id and url_key = any(:urls)
                 union
                 select {_SEEN} from feed_item where source_id = :id and title_key = any(:titles)"""),
        {
            "id": source_id,
            "urls": [entry.url_key for entry in listed if entry.url_key],
            "titles": [entry.title_key for entry in listed if entry.title_key],
        },
    )
    return [Seen(*row) for row in rows]


# An address that the feed itself has under another entry says nothing; a provider's id always does.
_RESOLVE = text("""
select e.key, coalesce(p.id, u.id) as item_id,
  u.id is null and exists (select from item taken where taken.url_key = e.url_key) as is_taken
from unnest(cast(:keys as text[]), cast(:providers as text[]), cast(:provider_ids as text[]),
            cast(:url_keys as text[])) as e (key, provider, provider_item_id, url_key)
left join item p on p.provider = e.provider and p.provider_item_id = e.provider_item_id
left join item u on u.url_key = e.url_key
  and not exists (select from feed_item f where f.source_id = :source_id and f.item_id = u.id)
""")

_RECORD = """jsonb_to_recordset(:rows) as e (key text, item_id bigint, url text, url_key text,
  item_url_key text, title_key text, content_hash text, published_at timestamptz, title text, summary text,
  content text, author text, image_url text, media_url text, media_type text, duration_seconds int,
  language text, categories jsonb, provider text, provider_item_id text, silent boolean)"""
_TAGS = "array(select jsonb_array_elements_text(e.categories))"
_ROWS = bindparam("rows", type_=JSONB)

# The id is drawn first, so that each inserted item can be told from the others.
_INSERT_ITEMS = text(f"""
with e as materialized (
  select e.*, nextval(pg_get_serial_sequence('item', 'id')) as id, {_TAGS} as tags from {_RECORD}),
added as (
  insert into item (id, provider, provider_item_id, url, url_key, title, summary, content, author, image_url,
    media_url, media_type, duration_seconds, language, categories, published_at, source_id, first_seen_at,
    updated_at)
  overriding system value
  select id, provider, provider_item_id, url, item_url_key, title, summary, content, author, image_url,
    media_url, media_type, duration_seconds, language, tags, published_at, cast(:source_id as text),
    cast(:now as timestamptz), cast(:now as timestamptz)
  from e order by item_url_key, provider_item_id
  on conflict do nothing returning id)
select e.key, e.id from e join added using (id)
""").bindparams(_ROWS)

# Edits come from the feed that brought the item; any other only fills gaps.
_UPDATE_ITEMS = text(f"""
update item set
  title = case when e.is_owner then e.title else item.title end,
  url = case when e.is_owner then coalesce(e.url, item.url) else coalesce(item.url, e.url) end,
  url_key = case when e.item_url_key is not null and e.is_owner
                  and not exists (select from item other where other.url_key = e.item_url_key)
                 then e.item_url_key else item.url_key end,
  summary = case when e.is_owner then coalesce(e.summary, item.summary)
                 else coalesce(item.summary, e.summary) end,
  content = case when e.is_owner then coalesce(e.content, item.content)
                 else coalesce(item.content, e.content) end,
  author = case when e.is_owner then coalesce(e.author, item.author)
                else coalesce(item.author, e.author) end,
  image_url = case when e.is_owner then coalesce(e.image_url, item.image_url)
                   else coalesce(item.image_url, e.image_url) end,
  media_url = coalesce(e.media_url, item.media_url), media_type = coalesce(e.media_type, item.media_type),
  duration_seconds = coalesce(e.duration_seconds, item.duration_seconds),
  language = coalesce(item.language, e.language),
  categories = case when cardinality(e.tags) > 0 then e.tags else item.categories end,
  published_at = coalesce(item.published_at, e.published_at),
  updated_at = cast(:now as timestamptz)
from (select e.*, {_TAGS} as tags, known.source_id is not distinct from cast(:source_id as text) as is_owner
      from {_RECORD} join item known on known.id = e.item_id) e
where item.id = e.item_id
""").bindparams(_ROWS)

_NOTE_SEEN = text(f"""
insert into feed_item as f (source_id, item_key, item_id, url_key, title_key, content_hash, published_at,
  first_seen_at, last_seen_at, silent)
select cast(:source_id as text), key, item_id, url_key, title_key, content_hash, published_at,
  cast(:now as timestamptz), cast(:now as timestamptz), silent
from {_RECORD}
on conflict (source_id, item_key) do update set url_key = excluded.url_key, title_key = excluded.title_key,
  content_hash = excluded.content_hash, published_at = excluded.published_at,
  last_seen_at = cast(:now as timestamptz)
""").bindparams(_ROWS)

FAN_OUT = text("""
insert into inbox_item (user_id, item_id, source_id, arrived_at)
select s.user_id, i.id, s.source_id, cast(:now as timestamptz)
from subscription s cross join unnest(cast(:items as bigint[])) as i (id)
where s.source_id = :source_id and s.state = 'ACTIVE'
on conflict (user_id, item_id) do nothing
""")


async def find_or_add(
    connection: AsyncConnection, source_id: str, rows: Sequence[ItemRow], now: datetime
) -> None:
    """Give each row its item: the one its provider's id or its address leads to, or a new one."""
    await _resolve(connection, source_id, rows)
    await _insert(connection, source_id, [row for row in rows if row.item_id is None], now)
    # Another feed was faster, or two rows are one video.
    await _resolve(connection, source_id, [row for row in rows if row.item_id is None])
    left = [row for row in rows if row.item_id is None]
    for row in left:
        row.claims_url, row.provider, row.provider_item_id = False, None, None
    await _insert(connection, source_id, left, now)


async def _resolve(connection: AsyncConnection, source_id: str, rows: Sequence[ItemRow]) -> None:
    if not rows:
        return
    found = await connection.execute(
        _RESOLVE,
        {
            "source_id": source_id,
            "keys": [row.key for row in rows],
            "providers": [row.provider for row in rows],
            "provider_ids": [row.provider_item_id for row in rows],
            "url_keys": [row.url_key if row.claims_url else None for row in rows],
        },
    )
    by_key = {key: (item_id, is_taken) for key, item_id, is_taken in found}
    for row in rows:
        row.item_id, is_taken = by_key[row.key]
        row.claims_url = row.claims_url and not is_taken


async def _insert(
    connection: AsyncConnection, source_id: str, rows: Sequence[ItemRow], now: datetime
) -> None:
    if not rows:
        return
    added = await connection.execute(_INSERT_ITEMS, _parameters(source_id, rows, now))
    ids = {row.key: row.id for row in added}
    for row in rows:
        row.item_id = ids.get(row.key)


async def update(connection: AsyncConnection, source_id: str, rows: Sequence[ItemRow], now: datetime) -> None:
    if rows:
        await connection.execute(_UPDATE_ITEMS, _parameters(source_id, rows, now))


async def note_seen(
    connection: AsyncConnection, source_id: str, rows: Sequence[ItemRow], now: datetime
) -> None:
    if rows:
        await connection.execute(_NOTE_SEEN, _parameters(source_id, rows, now))


async def touch(connection: AsyncConnection, source_id: str, keys: Collection[str], now: datetime) -> None:
    """They are listed still. To the day is exact enough, and spares a write for each entry of each look."""
    await connection.execute(
        text("""update feed_item set last_seen_at = :now where source_id = :id and item_key = any(:keys)
                  and last_seen_at < cast(:now as timestamptz) - interval '1 day'"""),
        {"id": source_id, "keys": list(keys), "now": now},
    )


async def deliver(
    connection: AsyncConnection, source_id: str, item_ids: Collection[int], now: datetime
) -> int:
    """Into the inbox of everybody who follows the feed, in one statement. How many rows came about."""
    if not item_ids:
        return 0
    done = await connection.execute(
        FAN_OUT, {"source_id": source_id, "items": list(dict.fromkeys(item_ids)), "now": now}
    )
    return done.rowcount


async def ask_for_enrichment(connection: AsyncConnection, item_ids: Collection[int], now: datetime) -> None:
    """Of those that are in somebody's inbox, and were not looked at before."""
    if not item_ids:
        return
    await connection.execute(
        text("""update item set enrich = 'due', enrich_due_at = :now
                where id = any(:ids) and enrich = 'none'
                  and exists (select from inbox_item where inbox_item.item_id = item.id)"""),
        {"ids": list(item_ids), "now": now},
    )


def _parameters(source_id: str, rows: Sequence[ItemRow], now: datetime) -> dict[str, Any]:
    return {"source_id": source_id, "rows": [row.values() for row in rows], "now": now}


async def forget(connection: AsyncConnection, *, before: datetime, most: int = 5000) -> int:
    """Delete items that everybody archived and no feed has listed since; that they were seen is kept."""
    gone = await connection.execute(
        text("""delete from item where id in (
                  select id from item where first_seen_at < :before
                    and not exists (select from inbox_item i where i.item_id = item.id
                                    and (i.state <> 'ARCHIVED'
                                         or coalesce(i.state_at, i.arrived_at) >= :before))
                    and not exists (select from feed_item f where f.item_id = item.id
                                    and f.last_seen_at >= :before)
                  limit :most)"""),
        {"before": before, "most": most},
    )
    return gone.rowcount
