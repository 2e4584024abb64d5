"""A database with feeds and people, and documents that come in: no server but PostgreSQL."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.feeds.feed import Entry, FeedKind, ParsedFeed
from fascicle.services.feeds.incoming_items import FeedStore, Stored
from fascicle.sites.feeds.reading import harmless_entry
from fascicle.storage.database import transaction
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.storage.series import library

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Newsstand:
    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.clock = NOW

    async def feed(self, name: str, readers: Sequence[str] = ("ann",)) -> str:
        async with transaction(self.engine) as connection:
            source_id, _ = await feeds.add(connection, f"https://{name}.example/feed", title=name, page=None)
            for reader in readers:
                user_id, _ = await library.add_user(connection, reader)
                await subscriptions.subscribe(connection, user_id, source_id)
        return source_id

    async def read(self, source_id: str, *entries: Entry, store: FeedStore | None = None) -> Stored:
        harmless = [harmless_entry(entry) for entry in entries]
        parsed = ParsedFeed(kind=FeedKind.RSS, format="rss20", entries=harmless)
        return await self.read_document(source_id, parsed, store or FeedStore(enrich=True))

    async def read_document(
        self, source_id: str, parsed: ParsedFeed, store: FeedStore, *, replay: bool = False
    ) -> Stored:
        self.clock += timedelta(minutes=5)
        async with transaction(self.engine) as connection:
            feed = await feeds.locked(connection, source_id)
            assert feed is not None
            stored = await store.store(connection, feed, parsed, self.clock, replay=replay)
            await connection.execute(
                text("update source set first_synced_at = coalesce(first_synced_at, :now) where id = :id"),
                {"now": self.clock, "id": source_id},
            )
        return stored

    async def followed(self, name: str, readers: Sequence[str] = ("ann",)) -> str:
        """A feed whose first, empty reading is over."""
        source_id = await self.feed(name, readers)
        await self.read(source_id)
        return source_id

    async def inbox(self, reader: str) -> list[str]:
        rows = await self.rows(
            """select item.title from inbox_item join item on item.id = item_id
               join app_user on app_user.id = user_id where app_user.name = :name order by item.id""",
            name=reader,
        )
        return [row["title"] for row in rows]

    async def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        async with transaction(self.engine) as connection:
            return [dict(row) for row in (await connection.execute(text(sql), parameters)).mappings()]

    async def execute(self, sql: str) -> None:
        async with transaction(self.engine) as connection:
            await connection.execute(text(sql))

    async def count(self, table: str) -> int:
        return int((await self.rows(f"select count(*) as n from {table}"))[0]["n"])
