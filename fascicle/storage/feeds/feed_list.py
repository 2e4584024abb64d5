"""Queries for a list of feeds: many at once (I7)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from fascicle.domain.names import FEED_SITE, new_id
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# An address that a source has, or that a feed is fetched at, gets no second source.
_ADD_MANY = text("""
insert into source (id, site, site_key, url, title)
select w.id, :site, w.address, w.address, w.title
from unnest(cast(:ids as text[]), cast(:addresses as text[]), cast(:titles as text[]))
  as w (id, address, title)
where not exists (select from source where site = :site and site_key = w.address)
  and not exists (select from feed where feed.url = w.address)
order by w.address
on conflict (site, site_key) do nothing returning id
""")

_FIND_MANY = text("""
select distinct on (address) address, id from (
  select site_key as address, id, removed_at, created_at from source
  where site = :site and site_key = any(:addresses)
  union all
  select feed.url, source.id, removed_at, created_at from source join feed on feed.source_id = source.id
  where feed.url = any(:addresses)) known
order by address, removed_at is not null, created_at
""")


async def add_many(
    connection: AsyncConnection, wanted: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, bool]]:
    """`feed.add` for many feeds (address, title) that were not fetched yet: its result by address."""
    titles = dict(wanted)
    addresses = list(titles)
    rows = await connection.execute(
        _ADD_MANY,
        {
            "ids": [new_id() for _ in addresses],
            "site": FEED_SITE,
            "addresses": addresses,
            "titles": list(titles.values()),
        },
    )
    added = set(rows.scalars())
    found = await connection.execute(_FIND_MANY, {"site": FEED_SITE, "addresses": addresses})
    ids = {row.address: str(row.id) for row in found}
    await connection.execute(
        text("""insert into feed (source_id, url)
                select * from unnest(cast(:ids as text[]), cast(:urls as text[]))
                on conflict (source_id) do nothing"""),
        {"ids": list(ids.values()), "urls": list(ids)},
    )
    fresh = added | await feeds.revive(connection, ids.values())
    return {address: (source_id, source_id in fresh) for address, source_id in ids.items()}


async def first_looks(connection: AsyncConnection, source_ids: Collection[str]) -> list[dict[str, Any]]:
    """How the first looks at these feeds went, with the input for their workflows. A feed that turned out to
    be a duplicate of another is left out."""
    rows = await connection.execute(
        text("""select source.id, source.title, feed.url, last_error_code as error_code,
                  last_error as error, last_checked_at is not null as checked,
                  first_synced_at is not null as read, source.site, source.series_id, source.cadence,
                  source.circuit, source.failure_count, source.first_synced_at, source.paused_at,
                  source.paused_reason, source.next_check_at,
                  exists (select from subscription s where s.source_id = source.id and s.state = 'ACTIVE')
                    as wanted
                from source join feed on feed.source_id = source.id
                where source.id = any(:ids) and removed_at is null order by source.title, source.id"""),
        {"ids": list(source_ids)},
    )
    return [dict(row) for row in rows.mappings()]


async def without_look(connection: AsyncConnection, source_ids: Collection[str]) -> set[str]:
    """The feeds among these that had no look yet."""
    rows = await connection.execute(
        text("""select id from source
                where id = any(:ids) and removed_at is null and last_checked_at is null"""),
        {"ids": list(source_ids)},
    )
    return set(rows.scalars())


async def listing(connection: AsyncConnection) -> list[dict[str, Any]]:
    """All feeds, also removed ones; those that are followed come first."""
    rows = await connection.execute(
        text("""select source.id, source.title, feed.url, source.url as site_url, source.removed_at
                from source join feed on feed.source_id = source.id
                order by removed_at is not null, source.title, source.id""")
    )
    return [dict(row) for row in rows.mappings()]
