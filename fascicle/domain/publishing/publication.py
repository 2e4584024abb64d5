"""The next step of a post, and finding a publication in the gallery whose answer was lost (P3)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from html import unescape

from pydantic import BaseModel

from fascicle.domain.instants import Instant

# The site's clock and ours may differ; the baseline excludes the entries from before.
_CLOCK_TOLERANCE = timedelta(minutes=5)
# After so many calls with an unknown outcome, a person has to look.
MAX_UNCLEAR = 3
MAX_SUBMITS = 3


class Step(StrEnum):
    WAIT = "wait"
    CHECK = "check"
    UPLOAD = "upload"
    BASELINE = "baseline"
    PUBLISH = "publish"
    LOOK = "look"
    OVER = "over"


@dataclass(frozen=True)
class FileProgress:
    """The progress of a file's publication."""

    id: int
    item_id: str | None
    has_baseline: bool
    intent_at: datetime | None
    published: bool


def next_step(files: Sequence[FileProgress], *, checked: bool) -> tuple[Step, FileProgress | None]:
    """All files are uploaded before the first is published, so that no post is published in part."""
    unpublished = [file for file in files if not file.published]
    if not unpublished:
        return Step.OVER, None
    current = unpublished[0]
    if current.intent_at is not None:
        return Step.LOOK, current
    if not checked:
        return Step.CHECK, None
    for file in unpublished:
        if file.item_id is None:
            return Step.UPLOAD, file
    return (Step.PUBLISH if current.has_baseline else Step.BASELINE), current


class GalleryEntry(BaseModel):
    deviation_id: str
    url: str | None = None
    title: str
    published_at: Instant = None


def matching_entries(
    entries: Sequence[GalleryEntry], *, title: str, intent_at: datetime, known: Collection[str]
) -> list[GalleryEntry]:
    """The entries that may be the publication in question: not there before, not known as another one of
    ours, with this title, not older than the intent.
    """
    return [
        entry
        for entry in entries
        if entry.deviation_id not in known
        and _same_title(entry.title, title)
        and (entry.published_at is None or entry.published_at >= intent_at - _CLOCK_TOLERANCE)
    ]


def _same_title(one: str, other: str) -> bool:
    return " ".join(unescape(one).split()).casefold() == " ".join(unescape(other).split()).casefold()


def attempt_delay(attempt: int, base_seconds: float) -> float:
    """5 s, 10 s, 20 s … before the attempt after that one (P5)."""
    return float(base_seconds * 2 ** min(attempt - 1, 20))
