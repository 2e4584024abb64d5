"""Finding chapters to ingest again (C15)."""

import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from activities.series.source import UPLOADS_PER_CHILD, Wait, as_wait
from fascicle.domain.errors import MustWait, PermanentError
from fascicle.domain.names import ingest_job_key
from fascicle.domain.series.chapter import ListedChapter
from fascicle.services.series.keyed_chapters import keyed_chapters
from fascicle.services.series.next_check import PollPolicy
from fascicle.sites.base import Sites
from fascicle.storage.database import transaction
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources
from fascicle.storage.series.source import Source

_MOST_PAGES = 500
_RANGE = re.compile(r"\s*(\d{1,9}(?:\.\d{1,8})?)\s*-\s*(\d{1,9}(?:\.\d{1,8})?)\s*", re.ASCII)


class ReplayInput(BaseModel):
    source_id: str
    wanted: str
    """A chapter's key, or a range of numbers: `45`, `x:…`, `40-45`."""
    now: datetime
    cursor: str | None = None
    """The place where a search that had to wait continues."""


class ReplayResult(BaseModel):
    wait: Wait | None = None
    cursor: str | None = None
    chapters: list[ListedChapter] = []
    stored: int = 0
    """The number of chapters that were stored at once, as they were too many for a workflow each."""


def selection(wanted: str) -> Callable[[ListedChapter], bool]:
    """A test for the wanted chapters."""
    if match := _RANGE.fullmatch(wanted):
        first, last = sorted(Decimal(number) for number in match.groups())
        return lambda chapter: chapter.number is not None and first <= chapter.number <= last
    return lambda chapter: chapter.key == wanted.strip()


class _Search:
    """The wanted chapters found so far, and how far the list was read."""

    def __init__(self, is_meant: Callable[[ListedChapter], bool], cursor: str | None) -> None:
        self._is_meant = is_meant
        self.cursor = cursor
        self.found: dict[str, ListedChapter] = {}

    def add(self, listed: list[ListedChapter]) -> None:
        for chapter in filter(self._is_meant, listed):
            earlier = self.found[chapter.key].uploads if chapter.key in self.found else []
            self.found[chapter.key] = ListedChapter(key=chapter.key, uploads=[*earlier, *chapter.uploads])


class ReplayActivities:
    def __init__(self, engine: AsyncEngine, sites: Sites, policy: PollPolicy) -> None:
        self._engine = engine
        self._sites = sites
        self._policy = policy

    @activity.defn
    async def find_chapters(self, replay: ReplayInput) -> ReplayResult:
        """Read the site's list for the wanted chapters. The others are not changed."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                source = await sources.get(connection, replay.source_id)
            if source is None or source.removed_at is not None:
                raise PermanentError("source_gone", f"There is no source {replay.source_id} any more.")
            search = _Search(selection(replay.wanted), replay.cursor)
            result = ReplayResult()
            try:
                await self._read_on(source, search)
            except MustWait as wait:
                result.wait, result.cursor = as_wait(wait), search.cursor
            found = list(search.found.values())
            if len(found) > self._policy.children_per_poll:
                await self._store(source, found, replay.now)
                result.stored = len(found)
                return result
        result.chapters = [ListedChapter(key=c.key, uploads=c.uploads[:UPLOADS_PER_CHILD]) for c in found]
        return result

    async def _read_on(self, source: Source, search: "_Search") -> None:
        site = self._sites.named(source.site)
        for _ in range(_MOST_PAGES):
            page = await site.everything(source.site_key, source.languages, search.cursor)
            async with transaction(self._engine) as connection:
                known = await chapters.known_uploads(connection, source.id, page.uploads)
                search.add(await keyed_chapters(connection, source, page.uploads, known))
            search.cursor = page.next_cursor
            if search.cursor is None:
                return

    async def _store(self, source: Source, found: list[ListedChapter], now: datetime) -> None:
        async with transaction(self._engine) as connection:
            await chapters.fold_in(
                connection,
                source_id=source.id,
                series_id=source.series_id,
                chapters=found,
                news={chapter.key for chapter in found if not chapter.best.unavailable},
                now=now,
            )
            for chapter in found:
                await dead_letter.resolve(connection, "ingest", ingest_job_key(source.id, chapter.key), now)
