"""The sweep (C16): reads a site's list of everything new, from the top to where the last sweep began."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel

from fascicle.domain.instants import Instant
from fascicle.domain.series.chapter import LatestEntry

# So many of the last entries are remembered.
_REMEMBERED = 1000
# An upload that is listed but cannot be found in its series' own list wakes the source this often at most.
MOST_WAKES = 3
# After so many failed sweeps in a row, the sources go back to their own intervals.
FAILURES_UNTIL_LOST = 3


class SweepCursor(BaseModel):
    """How far a site's list has been read: by time if the site gives times, else by the entries seen."""

    at: Instant = None
    seen: list[str] = []
    wakes: dict[str, int] = {}
    """Uploads that woke a source and were not stored at the time of the following sweep."""

    @property
    def is_first(self) -> bool:
        return self.at is None and not self.seen


class SweepProgress(BaseModel):
    """The progress of one sweep. It survives waits: a sweep that starts at the top again might never end."""

    page: str | None = None
    """The page to go on with; None: the top."""
    pages: int = 0
    entries: int = 0
    newest: Instant = None
    seen: list[str] = []
    wakes: dict[str, int] = {}
    reached: bool = False
    """The place where the last sweep began is reached: everything since has been read."""

    def take(
        self, entries: Sequence[LatestEntry], cursor: SweepCursor, overlap: timedelta, *, is_last: bool
    ) -> None:
        self.pages += 1
        self.entries += len(entries)
        times = [entry.at for entry in entries if entry.at]
        self.newest = max([*times, *([self.newest] if self.newest else [])], default=None)
        self.seen = list(dict.fromkeys([*self.seen, *(entry.upload_id for entry in entries)]))[:_REMEMBERED]
        # The last entry decides: an old entry may have been put at the top again.
        self.reached = cursor.is_first or (
            bool(entries) and _was_there(entries[-1], cursor, overlap, by_id_too=is_last)
        )

    def next_cursor(self, cursor: SweepCursor, now: datetime) -> SweepCursor:
        """The place where the next sweep may stop; never in the future, which would hide later entries."""
        times = [min(at, now) for at in (self.newest, cursor.at) if at]
        seen = list(dict.fromkeys([*self.seen, *cursor.seen]))[:_REMEMBERED]
        return SweepCursor(at=max(times, default=None), seen=seen, wakes=self.wakes)


def _was_there(entry: LatestEntry, cursor: SweepCursor, overlap: timedelta, *, by_id_too: bool) -> bool:
    """Times are more reliable than ids, but a short list may end before its entries are old enough."""
    if entry.at is not None and cursor.at is not None:
        return entry.at < cursor.at - overlap or (by_id_too and entry.upload_id in cursor.seen)
    return entry.upload_id in cursor.seen


def count_wakes(cursor: SweepCursor, unstored: Sequence[str]) -> tuple[set[str], dict[str, int]]:
    """Returns the unstored uploads that are worth waking a source for, and how often each has done so."""
    counted = {upload: cursor.wakes.get(upload, 0) + 1 for upload in unstored}
    worth = {upload for upload, times in counted.items() if times <= MOST_WAKES}
    return worth, {upload: min(times, MOST_WAKES) for upload, times in counted.items()}
