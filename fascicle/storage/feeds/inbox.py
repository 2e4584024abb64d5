"""People's inboxes, and everything that is known about an item (I7)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from fascicle.domain.feeds.feed import ItemState
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# The index gives the newest rows of each state, plus ties with the last of them; only those few are joined.
# Items that arrived together are in the order of publication.
_LISTING = text("""
select item.id as item_id, item.title, item.url, coalesce(s.title, source.title) as feed, i.source_id,
  i.state, item.published_at, i.arrived_at, item.author, item.image_url, item.media_url,
  item.duration_seconds, item.language, item.reading_minutes, item.lead
from unnest(cast(:states as text[])) as wanted (state)
cross join lateral (
  select * from inbox_item i where i.user_id = :user_id and i.state = wanted.state
    and (cast(:source_id as text) is null or i.source_id = :source_id
         or exists (select from feed_item f where f.item_id = i.item_id and f.source_id = :source_id))
  order by i.arrived_at desc fetch first (:limit) rows with ties) i
join item on item.id = i.item_id
left join source on source.id = i.source_id
left join subscription s on s.user_id = i.user_id and s.source_id = i.source_id
order by i.arrived_at desc, item.published_at desc nulls last, item.id desc limit :limit
""")


async def listing(
    connection: AsyncConnection,
    user_id: str,
    *,
    state: ItemState | None,
    limit: int,
    source_id: str | None = None,
) -> list[dict[str, Any]]:
    """Newest first. `state` None: any state; `source_id`: items of that feed, whichever feed came first."""
    rows = await connection.execute(
        _LISTING,
        {
            "user_id": user_id,
            "states": [state] if state else list(ItemState),
            "source_id": source_id,
            "limit": limit,
        },
    )
    return [dict(row) for row in rows.mappings()]


async def set_state(
    connection: AsyncConnection, user_id: str, item_ids: Collection[int], state: ItemState
) -> set[int]:
    """Set the state of those items that the person has; returns their ids."""
    rows = await connection.execute(
        text("""update inbox_item set state = :state,
                  state_at = case when state = :state then state_at else now() end
                where user_id = :user_id and item_id = any(:ids) returning item_id"""),
        {"user_id": user_id, "ids": list(item_ids), "state": state},
    )
    return set(rows.scalars())


async def known(connection: AsyncConnection, item_ids: Collection[int]) -> set[int]:
    """The items among these that exist, in an inbox or not."""
    rows = await connection.execute(text("select id from item where id = any(:ids)"), {"ids": list(item_ids)})
    return set(rows.scalars())


_ITEM = text("""
select item.id as item_id, item.title, item.url, i.state, i.arrived_at, i.state_at,
  item.published_at, item.author, item.summary, item.content, item.lead, item.lead_kind, item.image_url,
  item.media_url, item.media_type, item.duration_seconds, item.language, item.categories, item.site_name,
  item.words, item.reading_minutes, item.provider, item.provider_item_id, item.source_id,
  item.first_seen_at, item.updated_at, item.enrich, item.enriched_at, item.metadata
from item left join inbox_item i on i.item_id = item.id and i.user_id = cast(:user_id as text)
where item.id = :id
""")

_SEEN = text("""
select f.source_id, source.title as feed, feed.url as feed_url, f.item_key as key, f.first_seen_at,
  f.last_seen_at, f.silent
from feed_item f join source on source.id = f.source_id left join feed on feed.source_id = f.source_id
where f.item_id = :id order by f.first_seen_at, f.source_id, f.item_key
""")


async def item(
    connection: AsyncConnection, item_id: int, user_id: str | None = None
) -> dict[str, Any] | None:
    """The whole item, where it was seen, and its state for this person. None: there is no such item."""
    row = (await connection.execute(_ITEM, {"id": item_id, "user_id": user_id})).mappings().first()
    if row is None:
        return None
    seen = await connection.execute(_SEEN, {"id": item_id})
    return {**row, "seen": [dict(place) for place in seen.mappings()]}
