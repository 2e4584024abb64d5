"""The simulated feeds and their entries, under one lock and in one file."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from threading import RLock

from pydantic import ValidationError

from simulator.feeds.records import (
    EntryPatch,
    EntrySpec,
    Feed,
    FeedEntry,
    FeedPatch,
    FeedSpec,
    Saved,
    derived_video_id,
)
from simulator.specs import to_utc_second
from simulator.state import StateFileError, replace_file
from simulator.world import Clock, TakenError, UnknownSeriesError, utc_now


class UnknownFeedError(UnknownSeriesError):
    """The feed or the entry does not exist."""


class Newsroom:
    """Safe to use from several threads. A change is in the file before the call that made it returns."""

    def __init__(self, state_file: Path | None = None, clock: Clock = utc_now) -> None:
        self.lock = RLock()
        self._saved = _load(state_file) if state_file and state_file.exists() else Saved()
        self._state_file = state_file
        self._clock = clock
        self._changes_under_way = 0

    def now(self) -> datetime:
        return to_utc_second(self._clock())

    def feeds(self) -> list[Feed]:
        with self.lock:
            return list(self._saved.feeds.values())

    def feed(self, name: str) -> Feed:
        try:
            return self._saved.feeds[name]
        except KeyError:
            raise UnknownFeedError(f"no feed {name}") from None

    def entry(self, name: str, entry_id: int) -> FeedEntry:
        try:
            return self._saved.entries[self.feed(name).name][entry_id]
        except KeyError:
            raise UnknownFeedError(f"feed {name} has no entry {entry_id}") from None

    def entries(self, name: str) -> list[FeedEntry]:
        """All entries of the feed, newest first."""
        with self.lock:
            entries = self._saved.entries[self.feed(name).name].values()
            return sorted(entries, key=lambda entry: (entry.published_at, entry.id), reverse=True)

    def listed(self, name: str) -> list[FeedEntry]:
        """The entries in the feed's window, newest first."""
        with self.lock:
            return self.entries(name)[: self.feed(name).window]

    def all_entries(self) -> list[FeedEntry]:
        with self.lock:
            return [entry for entries in self._saved.entries.values() for entry in entries.values()]

    def add_feed(self, spec: FeedSpec) -> Feed:
        with self.changing():
            if spec.name in self._saved.feeds:
                raise TakenError(f"there is a feed {spec.name}")
            now = self.now()
            feed = Feed(**dict(spec), created_at=now, changed_at=now)
            self._saved.feeds[feed.name] = feed
            self._saved.entries[feed.name] = {}
            return feed

    def change_feed(self, name: str, change: FeedPatch) -> Feed:
        """Change the fields that are set, but not the name."""
        with self.changing():
            fields = {field: getattr(change, field) for field in change.model_fields_set - {"name"}}
            return self._touch(self.feed(name).model_copy(update=fields))

    def add_entry(self, name: str, spec: EntrySpec | None = None) -> FeedEntry:
        return self.add_entries(name, [spec or EntrySpec()])[0]

    def add_entries(self, name: str, specs: Iterable[EntrySpec]) -> list[FeedEntry]:
        """Add the entries in the given order, all at once: a reader sees all of them or none."""
        with self.changing():
            feed = self.feed(name)
            added = [
                self._stored(spec, name, number) for number, spec in enumerate(specs, feed.entries_made + 1)
            ]
            self._saved.entries[name] |= {entry.id: entry for entry in added}
            self._touch(feed.model_copy(update={"entries_made": feed.entries_made + len(added)}))
            return added

    def change_entry(self, name: str, entry_id: int, change: EntryPatch) -> FeedEntry:
        """Change the fields that are set. The entry keeps its dates unless the change sets them."""
        with self.changing():
            fields = {field: getattr(change, field) for field in change.model_fields_set}
            kept = self.entry(name, entry_id).model_dump(exclude={"id", "feed"})
            entry = self._stored(EntrySpec(**{**kept, **fields}), name, entry_id)
            self._saved.entries[name][entry_id] = entry
            self._touch(self.feed(name))
            return entry

    def remove_entry(self, name: str, entry_id: int) -> FeedEntry:
        with self.changing():
            removed = self.entry(name, entry_id)
            del self._saved.entries[name][entry_id]
            self._touch(self.feed(name))
            return removed

    def clear(self) -> None:
        with self.changing():
            self._saved = Saved()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock, and write the file once when the outermost change is done."""
        with self.lock:
            self._changes_under_way += 1
            try:
                yield
            finally:
                self._changes_under_way -= 1
            if self._state_file and not self._changes_under_way:
                replace_file(self._state_file, self._saved.model_dump_json().encode())

    def _stored(self, spec: EntrySpec, name: str, entry_id: int) -> FeedEntry:
        fields = {
            **dict(spec),
            "published_at": spec.published_at or self.now(),
            "video_id": spec.video_id or derived_video_id(name, entry_id),
        }
        return FeedEntry(**fields, id=entry_id, feed=name)

    def _touch(self, feed: Feed) -> Feed:
        changed_at = max(self.now(), feed.changed_at + timedelta(seconds=1))
        self._saved.feeds[feed.name] = feed.model_copy(update={"changed_at": changed_at})
        return self._saved.feeds[feed.name]


def _load(path: Path) -> Saved:
    try:
        return Saved.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise StateFileError(f"cannot read the feeds' state from {path}: {error}") from error
