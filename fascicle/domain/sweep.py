"""The sweep (C16): reading a site's "what is new for everyone" from the top to where the last one began."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel

from fascicle.domain.chapter import LatestEntry

# For sites without times: how many of the entries last read are remembered.
_REMEMBERED = 2000
# An upload that is listed but cannot be found in its series' own list wakes the source this often.
MOST_WAKES = 3


class SweepCursor(BaseModel):
    """How far a site's list has been read. By time where the site gives times, else by what was there."""

    at: datetime | None = None
    seen: list[str] = []
    wakes: dict[str, int] = {}
    """Uploads that woke a source and were not stored at the time of the following sweep."""

    @property
    def is_first(self) -> bool:
        return self.at is None and not self.seen


class SweepReading:
    """One walk down the list. Feed it pages until `is_over`; `has_gap` tells that it ended too early."""

    def __init__(self, cursor: SweepCursor, overlap: timedelta) -> None:
        self._cursor = cursor
        self._overlap = overlap
        self._seen = set(cursor.seen)
        self.entries: dict[str, LatestEntry] = {}
        self.pages = 0
        self._caught_up = cursor.is_first

    def add(self, entries: Sequence[LatestEntry]) -> None:
        self.pages += 1
        self.entries.update((entry.upload_id, entry) for entry in entries)
        self._caught_up = self._caught_up or self._reaches_back(entries)

    @property
    def is_over(self) -> bool:
        return self._caught_up

    @property
    def has_gap(self) -> bool:
        """The list ended before the place where the last sweep began: something between may be missing."""
        if self._caught_up or not self.entries:
            return False
        return not any(self._was_there(entry) for entry in self.entries.values())

    def _reaches_back(self, entries: Sequence[LatestEntry]) -> bool:
        # The last of the page decides: an old entry that was put to the top again proves nothing.
        return bool(entries) and self._was_there(entries[-1])

    def _was_there(self, entry: LatestEntry) -> bool:
        if entry.at is not None and self._cursor.at is not None:
            return entry.at < self._cursor.at - self._overlap
        return entry.upload_id in self._seen

    def next_cursor(self, now: datetime, wakes: dict[str, int]) -> SweepCursor:
        """Where the next sweep may stop. Times in the future would hide what comes before them."""
        times = [min(entry.at, now) for entry in self.entries.values() if entry.at]
        newest = max([*times, *([self._cursor.at] if self._cursor.at else [])], default=None)
        timeless = [key for key, entry in self.entries.items() if entry.at is None]
        seen = list(dict.fromkeys([*timeless, *self._cursor.seen]))[:_REMEMBERED]
        return SweepCursor(at=newest, seen=seen, wakes=wakes)


def count_wakes(cursor: SweepCursor, unstored: Sequence[str]) -> tuple[set[str], dict[str, int]]:
    """Of the uploads not stored yet: those worth waking a source for, and how often each has by now."""
    counted = {upload: cursor.wakes.get(upload, 0) + 1 for upload in unstored}
    worth = {upload for upload, times in counted.items() if times <= MOST_WAKES}
    return worth, {upload: min(times, MOST_WAKES) for upload, times in counted.items()}
