"""Polling one feed (I1): fetch, parse, store new entries, plan the next look. One activity, idle or not."""

from dataclasses import replace
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity
from temporalio.client import Client

from activities.heartbeat import heartbeating
from activities.series.source import (
    PollInput,
    PollResult,
    Wait,
    as_of_now,
    as_wait,
    await_next_check,
    facts_meanwhile,
    failed_run,
    watched,
)
from fascicle.domain.errors import ErrorRecord, FascicleError, MustWait, PermanentError
from fascicle.domain.feeds.feed import NOBODY_READS, ParsedFeed
from fascicle.domain.names import FEED_SITE
from fascicle.domain.series.cadence import Plan
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.jobs.feeds import EnrichItemInput, enrich_input
from fascicle.services.feeds.enrichment import start_enriching
from fascicle.services.feeds.incoming_items import BuriedEntry, Stored, bad_entry, bury_entry
from fascicle.services.feeds.look import FeedBooks, Look, document_hash, refused_run, told_of
from fascicle.services.series.lost_workers import noted_poll
from fascicle.sites.feeds.client import Feeds, Fetched
from fascicle.storage.database import statement, transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import run as runs
from fascicle.storage.feeds.feed import Feed
from fascicle.storage.feeds.run import Document, Outcome
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import source as sources
from fascicle.storage.series.source import Source
from fascicle.temporal.metrics import Metrics

# A poll starts so many enrichments; the next poll, or `reconcile`, starts the rest.
_ENRICH_PER_POLL = 20
_GONE = "the site says that the feed is gone (410)"


class ReplayRunInput(BaseModel):
    source_id: str
    run_id: int
    now: datetime


class ReplayRunResult(BaseModel):
    told: str = ""
    wait: Wait | None = None
    items: list[EnrichItemInput] = []


class StoreItemInput(BaseModel):
    letter_id: int
    now: datetime


class StoreItemResult(BaseModel):
    items: list[EnrichItemInput] = []
    error: ErrorRecord | None = None
    """The reason why it is a dead letter again."""


class FeedActivities:
    def __init__(
        self, engine: AsyncEngine, client: Client, feeds: Feeds, books: FeedBooks, metrics: Metrics
    ) -> None:
        self._engine = engine
        self._client = client
        self._feeds = feeds
        self._books = books
        self._metrics = metrics

    @activity.defn
    async def poll_feed(self, poll: PollInput) -> PollResult:
        """One look. One transaction stores the answer's entries and the note that it was read."""
        poll = as_of_now(poll)
        async with heartbeating():
            source, feed = await self._load(poll.source_id)
            if source is None or feed is None or source.removed_at is not None:
                return PollResult(gone=True)
            look = Look(source, feed, poll.now)
            if not feed.wanted:
                return PollResult(facts=_facts(look), pause=NOBODY_READS, told="nobody reads it")
            await_next_check(source, poll)
            try:
                async with noted_poll(self._engine, source, watched=poll.watch is not None):
                    result = await self._poll(look)
                return watched(poll, result)
            except MustWait as wait:
                self._metrics.count_poll(FEED_SITE, "wait")
                await self._note_refusal(look, wait)
                return PollResult(wait=as_wait(wait), facts=_facts(look))
            except PermanentError as error:
                if error.http_status != 410:
                    raise
                return await self._gone(look, error)

    @activity.defn
    async def replay_run(self, replay: ReplayRunInput) -> ReplayRunResult:
        """Read a run's document again or, if it is not kept, the feed's present one. No duplicates result."""
        async with heartbeating():
            source, feed = await self._load(replay.source_id)
            async with transaction(self._engine) as connection:
                document = await runs.document(connection, replay.run_id)
            if source is None or feed is None or document is None or document.source_id != source.id:
                return ReplayRunResult(told=f"there is no run {replay.run_id}")
            look = Look(source, feed, replay.now, replay_of=replay.run_id)
            try:
                return await self._replay(look, document)
            except MustWait as wait:
                return ReplayRunResult(wait=as_wait(wait))
            except PermanentError as error:
                failed = failed_run(source.id, look.now, error.record(stage="replay"))
                async with transaction(self._engine) as connection:
                    await runs.record(connection, replace(failed, replay_of=look.replay_of))
                raise

    @activity.defn
    async def store_item(self, wanted: StoreItemInput) -> StoreItemResult:
        """Store the entry of a dead letter; if it is refused again, it becomes a dead letter again."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                letter = await dead_letter.get(connection, wanted.letter_id)
            if letter is None:
                return StoreItemResult()
            buried = BuriedEntry.model_validate(letter["input"])
            try:
                return StoreItemResult(items=await self._store_buried(buried, wanted.now))
            except PermanentError as error:
                record = error.record(stage="store")
            except (ValueError, TypeError) as error:
                record = bad_entry(error)
            async with transaction(self._engine) as connection:
                await bury_entry(connection, buried, record, wanted.now)
            return StoreItemResult(error=record)

    async def _store_buried(self, buried: BuriedEntry, now: datetime) -> list[EnrichItemInput]:
        harmless = await self._feeds.harmless(buried.entry)
        buried = buried.model_copy(update={"entry": harmless})
        async with transaction(self._engine) as connection:
            feed = await feeds.locked(connection, buried.source_id)
            if feed is None:
                return []
            stored = await self._books.store.store_one(connection, feed, buried, now)
            return await self._due(connection, buried.source_id, stored, now)

    async def _load(self, source_id: str) -> tuple[Source | None, Feed | None]:
        async with statement(self._engine) as connection:
            return await sources.get(connection, source_id), await feeds.get(connection, source_id)

    async def _poll(self, look: Look) -> PollResult:
        if look.feed.first:
            return await self._first(look)
        feed = look.feed
        fetched = await self._feeds.fetch(feed.url, etag=feed.etag, last_modified=feed.last_modified)
        if fetched.not_modified:
            return await self._keep_books(look, fetched, None, "not_modified")
        if document_hash(fetched.body) == feed.document_hash:
            return await self._keep_books(look, fetched, None, "idle")
        return await self._keep_books(look, fetched, await self._feeds.read(fetched))

    async def _first(self, look: Look) -> PollResult:
        """The first look: if the address is a page, follow the feed that the page names."""
        found = await self._feeds.find(look.feed.url)
        if found.address != look.feed.url:
            async with transaction(self._engine) as connection:
                await feeds.locked(connection, look.source.id)
                if not await feeds.adopt_address(connection, look.source.id, found.address):
                    return PollResult(gone=True)
        return await self._keep_books(look, found.fetched, found.parsed)

    async def _keep_books(
        self, look: Look, fetched: Fetched, parsed: ParsedFeed | None, outcome: Outcome | None = None
    ) -> PollResult:
        async with transaction(self._engine) as connection:
            kept = await self._books.keep(connection, look, fetched, parsed, outcome)
            if kept is None:
                return PollResult(gone=True)
            due = await self._due(connection, look.source.id, kept.stored, look.now)
        self._metrics.count_poll(FEED_SITE, "new" if kept.stored.new else "idle")
        self._metrics.count_ingested(FEED_SITE, kept.stored.new)
        for published_at in kept.stored.published:
            self._metrics.note_detection(FEED_SITE, published_at, look.source.first_synced_at)
        stays = await self._follow_the_move(look, kept.moved_to, parsed)
        told = told_of(kept.stored, first=look.feed.first)
        # Not as child workflows: each child would wake the feed's workflow twice and add to its history.
        left = await start_enriching(self._client, due)
        return PollResult(items=left, told=told, facts=kept.facts, gone=not stays)

    async def _follow_the_move(self, look: Look, believed: str | None, parsed: ParsedFeed | None) -> bool:
        """Fetch the feed at its new address from now on. False: another feed has it, and took the readers.

        `believed` was reached by redirects, often enough. An address that only the document names is checked.
        """
        named = parsed.moved_to if parsed else None
        address = believed
        if address is None and parsed is not None and named and named != look.feed.url:
            address = named if await self._has_the_same(named, parsed) else None
        if address is None:
            return True
        async with transaction(self._engine) as connection:
            if await feeds.locked(connection, look.source.id) is None:
                return False
            return await feeds.adopt_address(connection, look.source.id, address)

    async def _has_the_same(self, address: str, parsed: ParsedFeed) -> bool:
        """True if the feed there has at least one of the entries; a mistyped address has none."""
        try:
            there = await self._feeds.read(await self._feeds.fetch(address))
        except FascicleError:
            return False
        return bool({entry.key for entry in there.entries} & {entry.key for entry in parsed.entries})

    async def _replay(self, look: Look, document: Document) -> ReplayRunResult:
        body, content_type = document.body, document.content_type
        if body is None:
            fetched = await self._feeds.fetch(look.feed.url)
            body, content_type = fetched.body, fetched.content_type
        parsed = await self._feeds.read_document(body, url=look.feed.url, content_type=content_type)
        async with transaction(self._engine) as connection:
            stored = await self._books.keep_replay(connection, look, parsed)
            if stored is None:
                return ReplayRunResult(told="the feed is not followed any more")
            due = await self._due(connection, look.source.id, stored, look.now)
        return ReplayRunResult(told=told_of(stored, first=False), items=due)

    async def _due(
        self, connection: AsyncConnection, source_id: str, stored: Stored, now: datetime
    ) -> list[EnrichItemInput]:
        """The feed's items that are due; `reconcile` finds those of a poll that died after storing."""
        if stored.is_idle:
            return []
        due = await enrichment.due(connection, source_id=source_id, before=now, limit=_ENRICH_PER_POLL)
        return [enrich_input(row) for row in due]

    async def _note_refusal(self, look: Look, wait: MustWait) -> None:
        """Record a run if the site itself said "later"; waiting at our own gate is no look."""
        if wait.refused:
            async with transaction(self._engine) as connection:
                await runs.record(connection, refused_run(look, wait))

    async def _gone(self, look: Look, error: PermanentError) -> PollResult:
        """410: the site wants no more requests, so pause the feed. A person may still resume it."""
        record = error.record(stage="poll")
        plan = Plan(cadence=_facts(look).cadence, next_check_at=look.now + timedelta(days=1), reason=_GONE)
        async with transaction(self._engine) as connection:
            await feeds.mark_gone(connection, look.source.id, look.now)
            await sources.record_failure(
                connection, look.source.id, now=look.now, state=look.source.breaker, plan=plan, error=record
            )
            await runs.record(connection, failed_run(look.source.id, look.now, record))
        self._metrics.count_poll(FEED_SITE, "failed")
        return PollResult(facts=_facts(look), pause=_GONE, told="gone")


def _facts(look: Look) -> SourceFacts:
    return facts_meanwhile(look.source, look.now)
