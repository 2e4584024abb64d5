"""Storing one new chapter (C6)."""

from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity

from fascicle.domain.errors import FascicleError, PermanentError
from fascicle.domain.names import ingest_job_key
from fascicle.jobs.series import IngestInput
from fascicle.storage.database import transaction
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.notifications.notification import FOLLOWERS_PER_PAGE
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources
from fascicle.temporal.metrics import Metrics


class StoreInput(BaseModel):
    ingest: IngestInput
    now: datetime
    announce: bool = False
    """Also write the followers' rows, if there is no notify delay."""


class StoreResult(BaseModel):
    chapter_id: int
    new_chapter: bool
    owed: bool
    """The chapter is owed to followers; also true if an earlier attempt stored it and died."""
    delay_seconds: float = 0
    """How long to wait before notifying, in case another source has the chapter too."""
    announced: bool = False
    """Each follower has a row; only the messages are still to be delivered."""
    told: int = 0
    messages: int = 0


class ChapterActivities:
    def __init__(
        self, engine: AsyncEngine, metrics: Metrics, *, notify_delay_seconds: float, daily_cap: int
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._notify_delay = notify_delay_seconds
        self._daily_cap = daily_cap

    @activity.defn
    async def store_chapter(self, store: StoreInput) -> StoreResult:
        if not store.announce or self._notify_delay:
            return await self._store(store, announce=False)
        try:
            return await self._store(store, announce=True)
        except FascicleError:
            # If only the followers' rows failed, store at least the chapter.
            return await self._store(store, announce=False)

    async def _store(self, store: StoreInput, *, announce: bool) -> StoreResult:
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
            # Even if it is owed already: a running fan-out may have passed followers who want this language.
            owed_again = await notifications.owe_new_languages(
                connection, ingest.series_id, [ingest.chapter.key], store.now
            )
            job_key = ingest_job_key(ingest.source_id, ingest.chapter.key)
            await dead_letter.resolve(connection, "ingest", job_key, store.now)
            is_owed = stored.owed or owed_again
            if not is_owed and not stored.new_chapter:
                # An earlier attempt may have written the followers' rows and died before it reported them.
                unsent = await notifications.next_attempt_at(connection, stored.chapter_id, store.now)
                is_owed = unsent is not None
            result = StoreResult(
                chapter_id=stored.chapter_id,
                new_chapter=stored.new_chapter,
                owed=is_owed,
                delay_seconds=self._notify_delay,
            )
            if announce and stored.new_chapter and result.owed:
                await self._announce(connection, result, store.now)
        self._metrics.count_ingested(ingest.site, int(stored.new_source))
        self._metrics.count_notifications("created", result.told)
        if stored.new_source:
            self._metrics.note_detection(ingest.site, ingest.chapter.published_at, source.first_synced_at)
        return result

    async def _announce(self, connection: AsyncConnection, result: StoreResult, now: datetime) -> None:
        """Write the rows of the first page of followers; if there are more, NotifyWorkflow writes them.

        Only for a chapter that was inserted just now: no other process can be sending messages about it.
        """
        owed_round = await notifications.owed_round(connection, result.chapter_id)
        page = await notifications.fan_out(
            connection, result.chapter_id, after="", limit=FOLLOWERS_PER_PAGE, cap=self._daily_cap, now=now
        )
        result.told, result.messages = page.told, page.queued
        if page.followers < FOLLOWERS_PER_PAGE:
            result.announced = await notifications.mark_announced(
                connection, result.chapter_id, owed_round, now
            )
