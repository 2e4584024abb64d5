"""Items (I2–I4): entries seen in a feed, the one item behind them, and the inboxes that have it.

The functions here run in one transaction: seen, item and inbox rows are written together or not at all.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.feeds.news import Listed, Seen


@dataclass
class ItemRow:
    """An entry as it is stored: sanitised, and with the decisions about it."""

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
    """The address identifies the item: another feed's entry with the same address is the same item."""
    silent: bool
    titled: bool = True
    """The title is the feed's own, not derived from other text."""
    at_home: bool = False
    """The feed is on the page's host: its data about the page takes precedence over other feeds' data."""
    item_id: int | None = None
    """The item of this entry, once known."""
    was_key: str | None = None
    """The key it was seen under before."""

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


# Only the latest with that address or title: some feeds give all entries the same title.
_ALIKE = text(f"""
select f.* from unnest(cast(:urls as text[])) as mark cross join lateral (
  select {_SEEN} from feed_item where source_id = :id and url_key = mark
  order by last_seen_at desc limit 20) f
union
select f.* from unnest(cast(:titles as text[])) as mark cross join lateral (
  select {_SEEN} from feed_item where source_id = :id and title_key = mark
  order by last_seen_at desc limit 20) f
""")


async def seen_alike(connection: AsyncConnection, source_id: str, entries: Iterable[Listed]) -> list[Seen]:
    """Earlier entries of this feed that have the address or the title of one of these entries."""
    listed = list(entries)
    rows = await connection.execute(
        _ALIKE,
        {
            "id": source_id,
            "urls": list({entry.url_key for entry in listed if entry.url_key}),
            "titles": list({entry.title_key for entry in listed if entry.title_key}),
        },
    )
    return [Seen(*row) for row in rows]


# An address that another entry of the same feed has identifies nothing; a provider's id always does.
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
  language text, categories jsonb, provider text, provider_item_id text, silent boolean, titled boolean,
  at_home boolean, was_key text)"""
_TAGS = "array(select jsonb_array_elements_text(e.categories))"
_ROWS = bindparam("rows", type_=JSONB)

# The owner's values replace old ones; another feed's values only fill gaps.
_OWN = ", ".join(
    f"{name} = case when e.is_owner then coalesce(e.{name}, item.{name})"
    f" else coalesce(item.{name}, e.{name}) end"
    for name in (
        "url",
        "summary",
        "content",
        "author",
        "image_url",
        "media_url",
        "media_type",
        "duration_seconds",
    )
)
# Hosts are compared without `www.`.
_HOST = "regexp_replace(substring(e.url from '^https?://[^/?#]+'), '^https?://(www[.])?', '')"
_PLAIN_OWNER = "regexp_replace(owner.url, '^https?://(www[.])?', '//') || '/'"

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

# Edits count from the feed that brought the item, or from the feed on the page's host; any other feed only
# fills gaps.
_UPDATE_ITEMS = text(rf"""
update item set
  source_id = case when e.is_owner then cast(:source_id as text) else item.source_id end,
  title = case when e.is_owner and e.titled then e.title else item.title end,
  url_key = case when e.item_url_key is not null and e.is_owner
                  and not exists (select from item other where other.url_key = e.item_url_key)
                 then e.item_url_key else item.url_key end,
  {_OWN},
  language = coalesce(item.language, e.language),
  categories = case when cardinality(e.tags) > 0 and (e.is_owner or cardinality(item.categories) = 0)
                    then e.tags else item.categories end,
  published_at = coalesce(item.published_at, e.published_at),
  updated_at = cast(:now as timestamptz)
from (select e.*, {_TAGS} as tags,
        known.source_id is null or known.source_id = cast(:source_id as text)
          or (e.at_home and coalesce(position('//' || {_HOST} || '/' in {_PLAIN_OWNER}), 0) = 0) as is_owner
      from {_RECORD} join item known on known.id = e.item_id
      left join feed owner on owner.source_id = known.source_id) e
where item.id = e.item_id
""").bindparams(_ROWS)

# An entry that came back under another key keeps its row: feeds that make up ids would fill the table.
_RENAME_SEEN = text(f"""
update feed_item f set item_key = e.key, url_key = e.url_key, title_key = e.title_key,
  content_hash = e.content_hash, published_at = e.published_at, last_seen_at = cast(:now as timestamptz)
from {_RECORD}
where f.source_id = cast(:source_id as text) and f.item_key = e.was_key
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

_ITEMS_AT_ONCE = 50

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
    """Give each row its item: the one with its provider's id or its address, or a new one."""
    await _resolve(connection, source_id, rows)
    await update(connection, source_id, [row for row in rows if row.item_id is not None], now)
    await _insert(connection, source_id, [row for row in rows if row.item_id is None], now)
    # Another feed inserted the item just now, or two rows are the same video.
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
    renamed = [row for row in rows if row.was_key is not None]
    if renamed:
        await connection.execute(_RENAME_SEEN, _parameters(source_id, renamed, now))
    others = [row for row in rows if row.was_key is None]
    if others:
        await connection.execute(_NOTE_SEEN, _parameters(source_id, others, now))


async def touch(connection: AsyncConnection, source_id: str, keys: Collection[str], now: datetime) -> None:
    """Note that the feed still lists these. One write a day is exact enough, and saves a write per look."""
    await connection.execute(
        text("""update feed_item set last_seen_at = :now where source_id = :id and item_key = any(:keys)
                  and last_seen_at < cast(:now as timestamptz) - interval '1 day'"""),
        {"id": source_id, "keys": list(keys), "now": now},
    )


async def deliver(
    connection: AsyncConnection, source_id: str, item_ids: Collection[int], now: datetime
) -> int:
    """Put the items into the inbox of everybody who follows the feed; returns the number of new rows.

    Many items take several statements: one would exceed the time a statement may take.
    """
    wanted, delivered = list(dict.fromkeys(item_ids)), 0
    for start in range(0, len(wanted), _ITEMS_AT_ONCE):
        items = wanted[start : start + _ITEMS_AT_ONCE]
        done = await connection.execute(FAN_OUT, {"source_id": source_id, "items": items, "now": now})
        delivered += done.rowcount
    return delivered


async def ask_for_enrichment(connection: AsyncConnection, item_ids: Collection[int], now: datetime) -> None:
    """Make the items due that are in somebody's inbox and were not due before."""
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


async def forget(connection: AsyncConnection, *, before: datetime, most: int = 20_000) -> int:
    """Delete items that everybody archived and no feed lists any more; the `feed_item` rows stay.

    An item in a feed's latest document counts as listed, even if the document did not change for long.
    """
    gone = await connection.execute(
        text("""delete from item where id in (
                  select id from item where first_seen_at < :before
                    and not exists (select from inbox_item i where i.item_id = item.id
                                    and (i.state <> 'ARCHIVED'
                                         or coalesce(i.state_at, i.arrived_at) >= :before))
                    and not exists (
                      select from feed_item f where f.item_id = item.id and f.last_seen_at >= least(
                        cast(:before as timestamptz),
                        (select max(o.last_seen_at) from feed_item o where o.source_id = f.source_id)
                          - interval '2 days'))
                  limit :most)"""),
        {"before": before, "most": most},
    )
    return gone.rowcount
