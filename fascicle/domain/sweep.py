"""The sweep (C16): reading a site's "what is new for everyone" from the top to where the last one began."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel

from fascicle.domain.chapter import LatestEntry
from fascicle.domain.instants import Instant

# How many of the entries last read are remembered.
_REMEMBERED = 1000
# An upload that is listed but cannot be found in its series' own list wakes the source this often.
MOST_WAKES = 3
# How many sweeps in a row may fail before the sources keep their own time again.
FAILURES_UNTIL_LOST = 3


class SweepCursor(BaseModel):
    """How far a site's list has been read: by time where the site gives times, else by what was there."""

    at: Instant = None
    seen: list[str] = []
    wakes: dict[str, int] = {}
    """Uploads that woke a source and were not stored at the time of the following sweep."""

    @property
    def is_first(self) -> bool:
        return self.at is None and not self.seen


class SweepProgress(BaseModel):
    """One walk down the list, so far. Survives waits: beginning at the top again might never get anywhere."""

    page: str | None = None
    """Where to go on; None: at the top."""
    pages: int = 0
    entries: int = 0
    newest: Instant = None
    seen: list[str] = []
    wakes: dict[str, int] = {}
    reached: bool = False
    """The last sweep began here: everything since has been read."""

    def take(
        self, entries: Sequence[LatestEntry], cursor: SweepCursor, overlap: timedelta, *, is_last: bool
    ) -> None:
        self.pages += 1
        self.entries += len(entries)
        times = [entry.at for entry in entries if entry.at]
        self.newest = max([*times, *([self.newest] if self.newest else [])], default=None)
        self.seen = list(dict.fromkeys([*self.seen, *(entry.upload_id for entry in entries)]))[:_REMEMBERED]
        # The last entry decides: an old one that was put to the top again proves nothing.
        self.reached = cursor.is_first or (
            bool(entries) and _was_there(entries[-1], cursor, overlap, by_id_too=is_last)
        )

    def next_cursor(self, cursor: SweepCursor, now: datetime) -> SweepCursor:
        """Where the next sweep may stop. Times in the future would hide what comes before them."""
        times = [min(at, now) for at in (self.newest, cursor.at) if at]
        seen = list(dict.fromkeys([*self.seen, *cursor.seen]))[:_REMEMBERED]
        return SweepCursor(at=max(times, default=None), seen=seen, wakes=self.wakes)


def _was_there(entry: LatestEntry, cursor: SweepCursor, overlap: timedelta, *, by_id_too: bool) -> bool:
    """Times are surer than ids; but a short list may end before it gets old enough."""
    if entry.at is not None and cursor.at is not None:
        return entry.at < cursor.at - overlap or (by_id_too and entry.upload_id in cursor.seen)
    return entry.upload_id in cursor.seen


def count_wakes(cursor: SweepCursor, unstored: Sequence[str]) -> tuple[set[str], dict[str, int]]:
    """Of the uploads not stored yet: those worth waking a source for, and how often each has by now."""
    counted = {upload: cursor.wakes.get(upload, 0) + 1 for upload in unstored}
    worth = {upload for upload, times in counted.items() if times <= MOST_WAKES}
    return worth, {upload: min(times, MOST_WAKES) for upload, times in counted.items()}
