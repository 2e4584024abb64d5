"""Enriching one item (I5): the steps are independent, so that a failed step does not stop the others."""

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.service import RPCError

from activities.heartbeat import heartbeating
from activities.series.source import Wait, as_wait
from fascicle.domain.errors import ErrorRecord, FascicleError, MustWait
from fascicle.domain.feeds.item_page import (
    EnrichableItem,
    Enrichment,
    PageMetadata,
    PageReading,
    StepError,
    Texts,
    declared_language,
    needs_page_text,
    put_together,
)
from fascicle.domain.summaries.request import Asked
from fascicle.jobs.feeds import EnrichItemInput
from fascicle.process.logs import get_logger
from fascicle.services.summaries.requests import RequestDesk
from fascicle.sites.pages import Pages
from fascicle.sites.pages.text import text_of_html
from fascicle.storage.database import statement, transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.operations import dead_letter
from fascicle.temporal.metrics import Metrics

T = TypeVar("T")
_LONGEST_MESSAGE = 300

log = get_logger("fascicle.enrich")


class EnrichInput(BaseModel):
    item_id: int
    now: datetime
    final: bool = False
    """It has waited often enough: go on without the steps that fail now."""


class EnrichResult(BaseModel):
    done: bool
    wait: Wait | None = None
    found: list[str] = []
    """The values found, for Temporal's Web UI."""
    failed: list[str] = []
    """Steps that failed and were skipped."""


class GiveUpInput(BaseModel):
    item: EnrichItemInput
    error: ErrorRecord
    attempts: int
    now: datetime


class EnrichActivities:
    """`desk` takes requests for summaries, if every item gets one; else None."""

    def __init__(
        self, engine: AsyncEngine, pages: Pages, metrics: Metrics, desk: RequestDesk | None = None
    ) -> None:
        self._engine = engine
        self._pages = pages
        self._metrics = metrics
        self._desk = desk

    @activity.defn
    async def enrich_item(self, enrich: EnrichInput) -> EnrichResult:
        """Read the page and store its data. Safe to repeat: an item that is gone or done needs nothing."""
        async with heartbeating():
            async with statement(self._engine) as connection:
                item = await enrichment.load(connection, enrich.item_id)
            if item is None or item.enrich != "due":
                return EnrichResult(done=True)
            steps = _Steps(waits=not enrich.final, retries=not enrich.final and not _is_last_attempt())
            try:
                found = await self._look_at(item, steps)
            except MustWait as wait:
                return await self._put_off(item, wait, enrich.now)
            # Submit before the item is done: a repeated submit is harmless, but a lost one is never repeated.
            await self._have_summarised(item)
            await self._keep(item, found, enrich.now)
        return EnrichResult(
            done=True, found=_known(found), failed=[f"{e.step}: {e.code}" for e in found.errors]
        )

    @activity.defn
    async def give_up_enriching(self, given_up: GiveUpInput) -> None:
        """The item keeps its data from the feed; a dead letter asks a person."""
        item_id = given_up.item.item_id
        async with transaction(self._engine) as connection:
            await enrichment.give_up(connection, item_id, given_up.now)
            await dead_letter.bury(
                connection,
                kind="enrich",
                job_key=str(item_id),
                workflow_id=activity.info().workflow_id or "",
                job_input=given_up.item.model_dump(mode="json"),
                error=given_up.error,
                attempts=given_up.attempts,
                now=given_up.now,
            )
        self._metrics.count_enriched("failed")

    async def _look_at(self, item: EnrichableItem, steps: "_Steps") -> Enrichment:
        url = item.url
        service = self._pages.oembed_address(url) if url else None
        oembed = await steps.attempt("oembed", self._pages.embedded(service)) if service else None
        page = None
        if url and self._pages.has_page(url):
            page = await steps.attempt("page", self._pages.fetch(url))
        texts = Texts(summary=text_of_html(item.summary), content=text_of_html(item.content))
        read = await steps.attempt(
            "metadata",
            self._pages.read(
                page,
                with_text=needs_page_text(item, texts),
                declared_language=declared_language(item, None),
                feed_text=texts.longest,
            ),
        )
        read = read or PageReading()
        steps.errors += read.errors
        metadata = read.metadata if page else None
        if oembed is None and metadata is not None and _lacks_something(metadata) and metadata.oembed_url:
            oembed = await steps.attempt("oembed", self._pages.embedded(metadata.oembed_url))
        texts.page = read.text
        language = declared_language(item, metadata) or read.language
        return put_together(item, texts, page=metadata, oembed=oembed, language=language, errors=steps.errors)

    async def _have_summarised(self, item: EnrichableItem) -> None:
        """Submit an ordinary request, which waits for its turn and the day's budget. Its failure does not
        matter here: the item has a lead."""
        if self._desk is None or item.url is None or not self._pages.has_page(item.url):
            return
        try:
            await self._desk.submit(Asked(url=item.url, item_id=item.id))
        except (FascicleError, RPCError) as error:
            log.warning("item_not_summarised", item_id=item.id, error=str(error))

    async def _put_off(self, item: EnrichableItem, wait: MustWait, now: datetime) -> EnrichResult:
        async with transaction(self._engine) as connection:
            await enrichment.put_off(connection, item.id, now + timedelta(seconds=wait.seconds))
        return EnrichResult(done=False, wait=as_wait(wait))

    async def _keep(self, item: EnrichableItem, found: Enrichment, now: datetime) -> None:
        async with transaction(self._engine) as connection:
            await enrichment.record(connection, item.id, found, now)
            await dead_letter.resolve(connection, "enrich", str(item.id), now)
        self._metrics.count_enriched("partial" if found.errors else "done")


class _Steps:
    """Independent steps. `waits`, `retries`: raise the error, as the activity will be tried again."""

    def __init__(self, *, waits: bool, retries: bool) -> None:
        self._waits = waits
        self._retries = retries
        self.errors: list[StepError] = []

    async def attempt(self, step: str, work: Awaitable[T]) -> T | None:
        """The result of the work; None if it failed, with the error noted."""
        try:
            return await work
        except FascicleError as error:
            if self._waits if isinstance(error, MustWait) else self._retries and error.retryable:
                raise
            self._note(step, error.code, error.message)
        except Exception as error:
            # A page may crash a parser; the item still has its text from the feed.
            log.exception("enrichment_step_crashed", step=step, error=str(error))
            self._note(step, "crashed", repr(error))
        return None

    def _note(self, step: str, code: str, message: str) -> None:
        printable = "".join(c if c.isprintable() else " " for c in message)
        self.errors.append(StepError(step=step, code=code, message=printable[:_LONGEST_MESSAGE]))


def _is_last_attempt() -> bool:
    info = activity.info()
    most = info.retry_policy.maximum_attempts if info.retry_policy else 0
    return 0 < most <= info.attempt


def _lacks_something(page: PageMetadata) -> bool:
    """True if the page lacks data that an oEmbed answer may have; most such answers only repeat the page."""
    is_medium = (page.kind or "").lower().startswith(("video", "music", "audio", "podcast"))
    return page.image_url is None or (is_medium and page.duration_seconds is None)


def _known(found: Enrichment) -> list[str]:
    names = ("image_url", "duration_seconds", "language", "reading_minutes", "site_name", "lead_kind")
    return [
        f"{name.replace('_', ' ')}: {value}" for name in names if (value := getattr(found, name)) is not None
    ]
