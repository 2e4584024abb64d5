"""Reading a source's whole list and storing it page by page: at the first sync, and from time to time.

Set-based and idempotent: a crash repeats at most the current page. History stays silent (C7); news are
committed as owed to the followers together with the chapter itself.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from activities.series.source import Wait, as_wait, record_success
from fascicle.domain.errors import MustWait, RetryableError
from fascicle.domain.series.chapter import ListedChapter, ListingPage, Upload, is_news
from fascicle.domain.series.gaps import describe
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.services.series.keyed_chapters import keyed_chapters
from fascicle.services.series.lost_workers import noted_poll
from fascicle.services.series.next_check import PollPolicy, is_missed_by_sweep
from fascicle.sites.base import Sites
from fascicle.storage.database import transaction
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources
from fascicle.storage.series.chapter import KnownUpload
from fascicle.storage.series.source import Source
from fascicle.temporal.metrics import Metrics

# Uploads become visible a little after the time they carry.
_NEWS_SLACK = timedelta(days=1)
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_MOST_PAGES = 500
_OWED_PER_PAGE = 200


class BackfillProgress(BaseModel):
    """The progress of the listing. It survives crashes as heartbeat details, and waits as the next input."""

    started_at: datetime
    cursor: str | None = None
    pages: int = 0
    rows: int = 0
    total: int = 0
    new: int = 0
    newest: datetime | None = None
    partial: bool = False
    missed_by_sweep: bool = False

    def advance(self, page: ListingPage, new: int) -> None:
        if self.pages == 0:
            self.total = page.total
        self.pages += 1
        self.rows += page.rows
        self.new += new
        self.cursor = page.next_cursor
        self.partial = self.partial or page.partial
        published = [u.published_at for u in page.uploads if u.published_at]
        self.newest = max([*published, *([self.newest] if self.newest else [])], default=None)

    @property
    def is_complete(self) -> bool:
        """False with fewer rows than announced, as the list changed meanwhile, or none, probably an error."""
        return not self.partial and 0 < self.total <= self.rows


class BackfillInput(BaseModel):
    source_id: str
    now: datetime
    progress: BackfillProgress | None = None


class BackfillResult(BaseModel):
    gone: bool = False
    wait: Wait | None = None
    unfinished: bool = False
    """The worker is shutting down: continue from `progress` on another one."""
    progress: BackfillProgress | None = None
    vanished: int = 0
    gaps: str = ""
    """Numbers that no source of the series has, in words."""
    owed: bool = False
    """The source has chapters that are owed to followers: `list_owed` returns them."""
    facts: SourceFacts | None = None


class OwedInput(BaseModel):
    source_id: str
    after: int = 0


class OwedChapter(BaseModel):
    chapter_id: int
    key: str


class OwedPage(BaseModel):
    chapters: list[OwedChapter]
    more: bool
    delay_seconds: float = 0


class BackfillActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        sites: Sites,
        policy: PollPolicy,
        metrics: Metrics,
        *,
        notify_delay_seconds: float,
    ) -> None:
        self._engine = engine
        self._sites = sites
        self._policy = policy
        self._metrics = metrics
        self._notify_delay = notify_delay_seconds

    @activity.defn
    async def backfill_source(self, backfill: BackfillInput) -> BackfillResult:
        progress = _resume(backfill)
        began = time.monotonic()
        async with heartbeating(lambda: progress):
            async with transaction(self._engine) as connection:
                source = await sources.get(connection, backfill.source_id)
            if source is None or source.removed_at is not None:
                return BackfillResult(gone=True)
            try:
                async with noted_poll(self._engine, source, watched=False):
                    finished = await self._read_and_store(source, progress)
            except MustWait as wait:
                return BackfillResult(wait=as_wait(wait), progress=progress)
            if not finished:
                return BackfillResult(unfinished=True, progress=progress)
            took = backfill.now - progress.started_at + timedelta(seconds=time.monotonic() - began)
            return await self._conclude(source, progress, backfill.now, took)

    @activity.defn
    async def list_owed(self, owed: OwedInput) -> OwedPage:
        """Chapters of the source that are owed to followers, a page at a time."""
        async with transaction(self._engine) as connection:
            rows = await chapters.owed_chapters(
                connection, owed.source_id, after=owed.after, limit=_OWED_PER_PAGE
            )
        return OwedPage(
            chapters=[OwedChapter(chapter_id=chapter_id, key=key) for chapter_id, key in rows],
            more=len(rows) == _OWED_PER_PAGE,
            delay_seconds=self._notify_delay,
        )

    async def _read_and_store(self, source: Source, progress: BackfillProgress) -> bool:
        """Read page by page from `progress`, and advance it. False: interrupted by a shutdown."""
        site = self._sites.named(source.site)
        while progress.pages < _MOST_PAGES:
            page = await site.everything(source.site_key, source.languages, progress.cursor)
            new = await self._store_page(source, page.uploads, progress)
            progress.advance(page, new)
            activity.heartbeat(progress)  # at once, so that a retry starts here and not a page earlier
            if page.next_cursor is None:
                return True
            if activity.is_worker_shutdown():
                return False
        raise RetryableError("endless_list", f"{source.title} has more than {_MOST_PAGES} pages of chapters.")

    async def _store_page(self, source: Source, uploads: Sequence[Upload], progress: BackfillProgress) -> int:
        """Store one page; returns the number of chapters that are new to the source."""
        started_at = progress.started_at
        async with transaction(self._engine) as connection:
            known = await chapters.known_uploads(connection, source.id, uploads)
            listed = await keyed_chapters(connection, source, uploads, known)
            _, buried = await chapters.settled_keys(connection, source.id, [c.key for c in listed])
            news = {c.key for c in listed if _deserves_notice(c, source)}
            stored = await chapters.fold_in(
                connection,
                source_id=source.id,
                series_id=source.series_id,
                chapters=[c for c in listed if c.key not in buried],
                news=news,
                now=started_at,
            )
            if source.first_synced_at is not None:
                fresh = _with_fresh_uploads(listed, known, source)
                await notifications.owe_new_languages(connection, source.series_id, fresh, started_at)
        new_keys = {chapter.key for chapter in stored if chapter.new_source}
        fresh_news = [c for c in listed if c.key in new_keys & news]
        if source.first_synced_at and is_missed_by_sweep(source, self._policy, started_at, fresh_news):
            progress.missed_by_sweep = True
        new = len(new_keys)
        for chapter in fresh_news:
            self._metrics.note_detection(source.site, chapter.published_at, source.first_synced_at)
        self._metrics.count_ingested(source.site, new)
        return new

    async def _conclude(
        self, source: Source, progress: BackfillProgress, now: datetime, took: timedelta
    ) -> BackfillResult:
        async with transaction(self._engine) as connection:
            vanished = 0
            if progress.is_complete:
                vanished = await chapters.flag_vanished(connection, source.id, progress.started_at, now)
            if progress.missed_by_sweep:
                await sources.note_sweep_miss(connection, source.id, now)
            newest = progress.newest or (now if source.first_synced_at is None else None)
            facts = await record_success(
                connection,
                source,
                self._policy,
                now,
                min(newest, now) if newest else None,
                complete=True,
                # During a long listing, a new chapter may be missed by the listing and by the sweep.
                trust_sweep=took < self._policy.sweep_overlap and not progress.missed_by_sweep,
            )
            owed = await chapters.owed_chapters(connection, source.id, limit=1)
            gaps = await chapters.gaps(connection, source.series_id)
        self._metrics.count_poll(source.site, "bulk")
        return BackfillResult(
            progress=progress, vanished=vanished, gaps=describe(gaps), owed=bool(owed), facts=facts
        )


def _resume(backfill: BackfillInput) -> BackfillProgress:
    """The progress of the last attempt's heartbeat, else of the last wait, else a new one."""
    details = activity.info().heartbeat_details
    if details:
        return BackfillProgress.model_validate(details[0])
    return backfill.progress or BackfillProgress(started_at=backfill.now)


def _with_fresh_uploads(
    listed: Sequence[ListedChapter], known: Mapping[str, KnownUpload], source: Source
) -> set[str]:
    """Keys of chapters, also old ones, with an unknown upload that came out since the last good poll."""
    since = source.last_success_at - _NEWS_SLACK if source.last_success_at else _LONG_AGO
    return {
        chapter.key
        for chapter in listed
        for upload in chapter.uploads
        if upload.upload_id not in known and (upload.published_at is None or upload.published_at >= since)
    }


def _deserves_notice(chapter: ListedChapter, source: Source) -> bool:
    if chapter.best.unavailable:
        return False
    if source.first_synced_at is not None:
        since = source.last_success_at or source.first_synced_at
        return is_news(chapter, since - _NEWS_SLACK)
    if source.announce_history:
        return True
    if source.last_success_at is not None:  # after a restore: followers may know older chapters already
        return chapter.published_at is not None and chapter.published_at > source.last_success_at
    # Another source of the series knew all chapters until its last poll; only later ones are news.
    sibling = source.sibling_success_at
    return (
        sibling is not None and chapter.published_at is not None and is_news(chapter, sibling - _NEWS_SLACK)
    )
