"""Storing one new chapter (C6)."""

from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.metrics import Metrics
from fascicle.domain.chapter import ListedChapter
from fascicle.domain.errors import PermanentError
from fascicle.domain.names import ingest_job_key
from fascicle.storage import chapter as chapters
from fascicle.storage import dead_letter
from fascicle.storage import notification as notifications
from fascicle.storage import source as sources
from fascicle.storage.database import transaction


class IngestInput(BaseModel):
    source_id: str
    series_id: str
    site: str
    series_title: str
    chapter: ListedChapter


class StoreInput(BaseModel):
    ingest: IngestInput
    now: datetime


class StoreResult(BaseModel):
    chapter_id: int
    new_chapter: bool
    owed: bool
    """Followers are still to be told; also true when an earlier attempt stored the chapter and died."""
    delay_seconds: float = 0
    """How long to wait with telling them, in case another source has the chapter too."""


class ChapterActivities:
    def __init__(self, engine: AsyncEngine, metrics: Metrics, *, notify_delay_seconds: float) -> None:
        self._engine = engine
        self._metrics = metrics
        self._notify_delay = notify_delay_seconds

    @activity.defn
    async def store_chapter(self, store: StoreInput) -> StoreResult:
        ingest = store.ingest
        async with transaction(self._engine) as connection:
            source = await sources.get(connection, ingest.source_id)
            if source is None:
                raise PermanentError("source_gone", f"There is no source {ingest.source_id} any more.")
            [stored] = await chapters.fold_in(
                connection,
                source_id=ingest.source_id,
                series_id=ingest.series_id,
                chapters=[ingest.chapter],
                news={ingest.chapter.key},
                now=store.now,
            )
            # Even if it is owed already: telling may be under way and past those who wait for this language.
            owed_again = await notifications.owe_new_languages(
                connection, ingest.series_id, [ingest.chapter.key], store.now
            )
            job_key = ingest_job_key(ingest.source_id, ingest.chapter.key)
            await dead_letter.resolve(connection, "ingest", job_key, store.now)
        self._metrics.count_ingested(ingest.site, int(stored.new_source))
        if stored.new_source:
            self._metrics.note_detection(ingest.site, ingest.chapter.published_at, source.first_synced_at)
        return StoreResult(
            chapter_id=stored.chapter_id,
            new_chapter=stored.new_chapter,
            owed=stored.owed or owed_again,
            delay_seconds=self._notify_delay,
        )
