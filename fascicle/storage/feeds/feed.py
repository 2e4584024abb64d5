"""Feeds: the part of a source that chapters do not have."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.feeds.feed import NOBODY_READS, ParsedFeed
from fascicle.domain.names import FEED_SITE, new_id
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True)
class Feed:
    source_id: str
    url: str
    kind: str | None
    etag: str | None
    last_modified: str | None
    document_hash: str | None
    moved_to: str | None
    moved_sightings: int
    newest_published_at: datetime | None
    patience_seconds: int | None
    gone: bool
    first: bool
    """It was not read since people began to follow it (again): its present entries are history, not news."""
    wanted: bool
    """Somebody follows it and has not paused it."""


_SELECT = """select feed.source_id, feed.url, feed.kind, feed.etag, feed.last_modified, feed.document_hash,
  feed.moved_to, feed.moved_sightings, feed.newest_published_at, feed.patience_seconds,
  feed.gone_at is not null as gone, source.first_synced_at is null as first,
  exists (select from subscription s where s.source_id = source.id and s.state = 'ACTIVE') as wanted
from feed join source on source.id = feed.source_id where feed.source_id = :id"""


async def get(connection: "AsyncConnection", source_id: str) -> Feed | None:
    row = (await connection.execute(text(_SELECT), {"id": source_id})).mappings().first()
    return Feed(**row) if row else None


async def locked(connection: "AsyncConnection", source_id: str) -> Feed | None:
    """The feed, locked until the end of the transaction, so that two looks are stored one after the other."""
    row = (await connection.execute(text(_SELECT + " for update of feed"), {"id": source_id})).mappings()
    found = row.first()
    return Feed(**found) if found else None


async def find(connection: "AsyncConnection", addresses: Sequence[str]) -> str | None:
    """The id of the source that has one of these addresses, removed or not."""
    found: str | None = await connection.scalar(
        text("""select source.id from source left join feed on feed.source_id = source.id
                where site = :site and (site_key = any(:urls) or feed.url = any(:urls))
                order by removed_at is not null, source.created_at limit 1"""),
        {"site": FEED_SITE, "urls": list(addresses)},
    )
    return found


_ADD = text("""
insert into source (id, site, site_key, url, title) values (:id, :site, :address, :url, :title)
on conflict (site, site_key) do nothing returning id
""")


async def add(
    connection: "AsyncConnection", address: str, *, title: str, page: str | None
) -> tuple[str, bool]:
    """The id of the feed at this address, and whether it is new or was removed before.

    A removed feed comes back with its old data; its next look counts as its first, so that entries from
    the time between are history, not news.
    """
    created = await connection.scalar(
        _ADD,
        {"id": new_id(), "site": FEED_SITE, "address": address, "url": page or address, "title": title},
    )
    source_id = created or await find(connection, [address])
    await connection.execute(
        text("insert into feed (source_id, url) values (:id, :url) on conflict (source_id) do nothing"),
        {"id": source_id, "url": address},
    )
    return str(source_id), bool(created) or bool(await revive(connection, [str(source_id)]))


async def revive(connection: "AsyncConnection", source_ids: Collection[str]) -> set[str]:
    """Restore the removed ones among these feeds, as `add` does; returns their ids."""
    revived = await connection.execute(
        text("""update source set removed_at = null, paused_at = null, paused_reason = null,
                  next_check_at = null, first_synced_at = null, last_checked_at = null,
                  last_error_code = null, last_error = null
                where id = any(:ids) and removed_at is not null returning id"""),
        {"ids": list(source_ids)},
    )
    ids = set(revived.scalars())
    await _forget_documents(connection, ids)
    return ids


async def forget_document(connection: "AsyncConnection", source_id: str) -> None:
    """Forget the validators of the last document, so that the next answer is read in full."""
    await _forget_documents(connection, [source_id])


async def _forget_documents(connection: "AsyncConnection", source_ids: Collection[str]) -> None:
    await connection.execute(
        text("""update feed set etag = null, last_modified = null, document_hash = null, gone_at = null
                where source_id = any(:ids)"""),
        {"ids": list(source_ids)},
    )


async def begin_anew(connection: "AsyncConnection", source_id: str) -> None:
    """Nobody followed the feed for a while: the entries of its next document are history, not news."""
    await forget_document(connection, source_id)
    await connection.execute(
        text("update source set first_synced_at = null where id = :id"), {"id": source_id}
    )


async def note_answer(connection: "AsyncConnection", feed: Feed) -> None:
    """Store an answer's metadata, in the transaction that stores its entries."""
    await connection.execute(
        text("""update feed set etag = :etag, last_modified = :last_modified, document_hash = :document_hash,
                  moved_to = :moved_to, moved_sightings = :moved_sightings,
                  patience_seconds = :patience_seconds, gone_at = null
                where source_id = :source_id"""),
        vars(feed),
    )


async def describe(
    connection: "AsyncConnection", source_id: str, parsed: ParsedFeed, newest_published_at: datetime | None
) -> None:
    """Store the feed's description of itself; a missing value keeps the old one."""
    await connection.execute(
        text("""update feed set kind = :kind, site_url = coalesce(cast(:site_url as text), site_url),
                  description = coalesce(cast(:description as text), description),
                  language = coalesce(cast(:language as text), language),
                  image_url = coalesce(cast(:image_url as text), image_url),
                  newest_published_at = greatest(newest_published_at, cast(:newest as timestamptz))
                where source_id = :id"""),
        {
            "id": source_id,
            "kind": parsed.kind,
            "site_url": parsed.site_url,
            "description": parsed.description,
            "language": parsed.language,
            "image_url": parsed.image_url,
            "newest": newest_published_at,
        },
    )
    await connection.execute(
        text("""update source set title = coalesce(nullif(:title, ''), title), note = nullif(:note, ''),
                  url = coalesce(cast(:page as text), url) where id = :id"""),
        {"id": source_id, "title": parsed.title, "page": parsed.site_url, "note": parsed.note},
    )


async def adopt_address(connection: "AsyncConnection", source_id: str, address: str) -> bool:
    """Fetch the feed at `address` from now on. False: another source has it, and took over the followers."""
    from sqlalchemy.exc import IntegrityError

    other = await _followed_at(connection, address, besides=source_id)
    if other is None:
        try:
            async with connection.begin_nested():
                await _move(connection, source_id, address)
        except IntegrityError:  # somebody began to follow that address just now
            other = await _followed_at(connection, address, besides=source_id)
        else:
            return True
    if other is not None:
        await _hand_over(connection, source_id, other)
    return other is None


async def _followed_at(connection: "AsyncConnection", address: str, *, besides: str) -> str | None:
    found: str | None = await connection.scalar(
        text("""select source.id from source left join feed on feed.source_id = source.id
                where site = :site and source.id <> :id and removed_at is null
                  and (site_key = :address or feed.url = :address) limit 1"""),
        {"site": FEED_SITE, "id": besides, "address": address},
    )
    return found


async def _move(connection: "AsyncConnection", source_id: str, address: str) -> None:
    # A server's validators mean nothing to another server, whose document may have more entries.
    await connection.execute(
        text("""update feed set url = :url, moved_to = null, moved_sightings = 0,
                  etag = null, last_modified = null where source_id = :id"""),
        {"id": source_id, "url": address},
    )
    # A removed source keeps its rows, but not the address.
    await connection.execute(
        text("""update source set site_key = site_key || ' #' || id
                where site = :site and site_key = :address and id <> :id and removed_at is not null"""),
        {"site": FEED_SITE, "address": address, "id": source_id},
    )
    await connection.execute(
        text("update source set site_key = :address where id = :id"), {"id": source_id, "address": address}
    )


async def _hand_over(connection: "AsyncConnection", source_id: str, other: str) -> None:
    """Move the followers of a feed to the other one; their inboxes stay as they are."""
    await connection.execute(
        text("select from feed where source_id in (:id, :other) order by source_id for update"),
        {"id": source_id, "other": other},
    )
    await connection.execute(
        text("""insert into subscription (user_id, source_id, state, title, folder, created_at, state_at)
                select user_id, :other, state, title, folder, created_at, state_at
                from subscription where source_id = :id and state <> 'UNSUBSCRIBED'
                on conflict (user_id, source_id) do update
                  set state = excluded.state, state_at = excluded.state_at
                  where subscription.state = 'UNSUBSCRIBED'"""),
        {"id": source_id, "other": other},
    )
    await connection.execute(
        text("""update subscription set state = 'UNSUBSCRIBED', state_at = now()
                where source_id = :id and state <> 'UNSUBSCRIBED'"""),
        {"id": source_id},
    )
    await connection.execute(text("update source set removed_at = now() where id = :id"), {"id": source_id})


async def neglected(connection: "AsyncConnection", *, before: datetime, limit: int) -> list[dict[str, Any]]:
    """Feeds with readers that were due before `before`, or are still paused for lack of readers.

    Their workflow may be missing. Most of them only wait for their sites; the random order keeps those from
    hiding the others.
    """
    rows = await connection.execute(
        text("""select id, title, cadence, circuit, failure_count, next_check_at,
                  paused_at is not null as rests
                from source
                where site = :site and removed_at is null
                  and (paused_reason = :nobody
                       or (paused_at is null and coalesce(next_check_at, created_at) < :before))
                  and exists (select from subscription s where s.source_id = source.id and s.state = 'ACTIVE')
                order by random() limit :limit"""),
        {"site": FEED_SITE, "nobody": NOBODY_READS, "before": before, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def mark_gone(connection: "AsyncConnection", source_id: str, now: datetime) -> None:
    await connection.execute(
        text("update feed set gone_at = :now where source_id = :id"), {"id": source_id, "now": now}
    )


async def release_times(connection: "AsyncConnection", source_id: str, *, limit: int) -> list[datetime]:
    """When the newest entries came out, by publication date or first sighting; a burst is one release."""
    rows = await connection.execute(
        text("""select distinct date_trunc('minute', coalesce(published_at, first_seen_at)) as at
                from (select published_at, first_seen_at from feed_item where source_id = :id
                      order by first_seen_at desc limit 4 * :limit) latest
                order by at desc limit :limit"""),
        {"id": source_id, "limit": limit},
    )
    return list(rows.scalars())
