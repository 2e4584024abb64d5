"""The control client's methods for feeds: the same as in process, over the control API."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, TypeAdapter

from simulator.deviantart.client import Call
from simulator.feeds.records import EntryPatch, EntrySpec, Feed, FeedEntry, FeedPatch, FeedSpec

FEEDS = TypeAdapter(list[Feed])
ENTRIES = TypeAdapter(list[FeedEntry])


class FeedsClient:
    def __init__(self, call: Call) -> None:
        self._call = call

    async def feeds(self) -> list[Feed]:
        return FEEDS.validate_json(await self._call("GET", "/feeds"))

    async def entries(self, name: str) -> list[FeedEntry]:
        """All entries of the feed, newest first."""
        return ENTRIES.validate_json(await self._call("GET", f"/feeds/{name}/entries"))

    async def add_feed(self, spec: FeedSpec) -> Feed:
        return Feed.model_validate_json(await self._call("POST", "/feeds", _fields(spec)))

    async def change_feed(self, name: str, change: FeedPatch) -> Feed:
        return Feed.model_validate_json(await self._call("PATCH", f"/feeds/{name}", _fields(change)))

    async def add_entry(self, name: str, spec: EntrySpec | None = None) -> FeedEntry:
        return (await self.add_entries(name, [spec or EntrySpec()]))[0]

    async def add_entries(self, name: str, specs: Iterable[EntrySpec]) -> list[FeedEntry]:
        body = [_fields(spec) for spec in specs]
        return ENTRIES.validate_json(await self._call("POST", f"/feeds/{name}/entries", body))

    async def change_entry(self, name: str, entry_id: int, change: EntryPatch) -> FeedEntry:
        path = f"/feeds/{name}/entries/{entry_id}"
        return FeedEntry.model_validate_json(await self._call("PATCH", path, _fields(change)))

    async def remove_entry(self, name: str, entry_id: int) -> FeedEntry:
        answer = await self._call("DELETE", f"/feeds/{name}/entries/{entry_id}")
        return FeedEntry.model_validate_json(answer)


def _fields(spec: BaseModel) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_unset=True)
