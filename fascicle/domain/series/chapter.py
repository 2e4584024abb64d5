"""The contents of a site's list: uploads, and the chapters that they form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from pydantic import BaseModel

from fascicle.domain.instants import Instant
from fascicle.domain.series.chapter_key import number_of


class Upload(BaseModel):
    """One readable thing on a site: a chapter number by one group in one language."""

    upload_id: str
    number: str | None = None
    volume: str | None = None
    title: str | None = None
    language: str | None = None
    group: str | None = None
    url: str
    external: bool = False
    pages: int | None = None
    published_at: Instant = None
    unavailable: bool = False


class ListedChapter(BaseModel):
    """All uploads of one chapter key, best first."""

    key: str
    uploads: list[Upload]

    @property
    def best(self) -> Upload:
        return self.uploads[0]

    @property
    def number(self) -> Decimal | None:
        return number_of(self.best.number)

    @property
    def title(self) -> str | None:
        return next((u.title for u in self.uploads if u.title), None)

    @property
    def volume(self) -> str | None:
        return next((u.volume for u in self.uploads if u.volume), None)

    @property
    def published_at(self) -> datetime | None:
        """When the chapter could first be read."""
        return min((u.published_at for u in self.uploads if u.published_at), default=None)


@dataclass(frozen=True)
class SeriesInfo:
    site_key: str
    title: str
    url: str
    numbering_restarts: bool = False


@dataclass(frozen=True)
class SeriesMatch:
    """A search result: a series, all its titles, and its ids at the trackers that it links to."""

    info: SeriesInfo
    titles: tuple[str, ...]
    anilist_id: str | None = None
    mal_id: str | None = None


@dataclass(frozen=True)
class ListingPage:
    """One page of a site's chapter list. `next_cursor` is opaque; None means the end was reached."""

    uploads: Sequence[Upload]
    rows: int
    """The number of entries on the page, including those that we cannot use."""
    total: int
    next_cursor: str | None
    partial: bool = False
    """The site shows only part of its list: nothing can be concluded from what is missing."""


@dataclass(frozen=True)
class LatestEntry:
    """An entry of a site's list of everything new."""

    series_key: str
    upload_id: str
    at: datetime | None = None
    language: str | None = None


@dataclass(frozen=True)
class LatestPage:
    """Newest first."""

    entries: Sequence[LatestEntry]
    next_cursor: str | None
    rows: int
    """The number of entries on the page, including those in other languages and those that we cannot use."""


def fold_uploads(
    uploads: Iterable[Upload], keys: Mapping[str, str], languages: Sequence[str]
) -> list[ListedChapter]:
    """Group uploads by chapter key, the upload a reader would open first at the front."""
    grouped: dict[str, dict[str, Upload]] = {}
    for upload in uploads:
        grouped.setdefault(keys[upload.upload_id], {})[upload.upload_id] = upload
    rank = {language: position for position, language in enumerate(languages)}

    def preference(upload: Upload) -> tuple[bool, int, bool, float]:
        published = upload.published_at.timestamp() if upload.published_at else float("inf")
        language_rank = rank.get(upload.language or "", len(rank))
        return upload.unavailable, language_rank, upload.external, published

    return [
        ListedChapter(key=key, uploads=sorted(group.values(), key=preference))
        for key, group in grouped.items()
    ]


def is_news(chapter: ListedChapter, since: datetime) -> bool:
    """Was it published after `since`? A chapter without a date counts as news."""
    return chapter.published_at is None or chapter.published_at >= since
