"""Stores the results of a look at a feed: entries, the answer's metadata, the next look, the run."""

import hashlib
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.errors import MustWait
from fascicle.domain.feeds.feed import ParsedFeed
from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.services.feeds.incoming_items import FeedStore, Stored
from fascicle.services.series.next_check import PollPolicy, next_check, poll_policy
from fascicle.services.series.source_facts import facts_of
from fascicle.settings.settings import Settings
from fascicle.sites.feeds.client import Fetched
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import run as runs
from fascicle.storage.feeds.feed import Feed
from fascicle.storage.feeds.run import Outcome, Run
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import source as sources
from fascicle.storage.series.source import Source


@dataclass(frozen=True)
class Look:
    """One look at one feed, from its beginning."""

    source: Source
    feed: Feed
    now: datetime
    replay_of: int | None = None
    began: float = field(default_factory=time.monotonic)

    def time(self) -> datetime:
        """The present time by the clock of `now`: a workflow's clock may run ahead."""
        return self.now + timedelta(seconds=time.monotonic() - self.began)


@dataclass(frozen=True)
class Kept:
    stored: Stored
    facts: SourceFacts
    moved_to: str | None
    """The address to fetch it at from now on: the redirect was seen often enough."""


class FeedBooks:
    def __init__(self, store: FeedStore, policy: PollPolicy) -> None:
        self.store = store
        self._policy = policy

    async def keep(
        self,
        connection: AsyncConnection,
        look: Look,
        fetched: Fetched,
        parsed: ParsedFeed | None,
        outcome: Outcome | None = None,
    ) -> Kept | None:
        """Store all that a look changes, in the caller's transaction; None: the feed does not exist any more.

        `parsed` None: the answer had nothing to read, and `outcome` says why.
        """
        held = await feeds.locked(connection, look.source.id)
        if held is None:
            return None
        stored = Stored()
        if parsed is not None:
            stored = await self.store.store(connection, held, parsed, look.now, arrived_at=look.time())
        sightings = _sightings(held, fetched)
        answered = _answered(held, fetched, parsed, sightings)
        if answered != held:  # most answers change nothing
            await feeds.note_answer(connection, answered)
        facts = await self._note_success(connection, look, answered, parsed, stored)
        await runs.record(connection, run_of(look, outcome or outcome_of(stored, held), stored, fetched))
        believed = sightings[1] >= self._policy.feed_moved_after
        return Kept(stored, facts, sightings[0] if believed else None)

    async def keep_replay(self, connection: AsyncConnection, look: Look, parsed: ParsedFeed) -> Stored | None:
        """Store the entries of an old document; it tells nothing about the feed's present state."""
        held = await feeds.locked(connection, look.source.id)
        if held is None:
            return None
        stored = await self.store.store(
            connection, held, parsed, look.now, arrived_at=look.time(), replay=True
        )
        await runs.record(connection, run_of(look, outcome_of(stored, held), stored))
        return stored

    async def _note_success(
        self,
        connection: AsyncConnection,
        look: Look,
        held: Feed,
        parsed: ParsedFeed | None,
        stored: Stored,
    ) -> SourceFacts:
        source = look.source
        last_new_at = look.now if stored.new else None
        if held.first:
            dates = [entry.published_at for entry in parsed.entries] if parsed else []
            last_new_at = max((min(date, look.now) for date in dates if date), default=look.now)
        plan = await next_check(
            connection, source, self._policy, look.now, last_new_at=last_new_at, feed=held
        )
        await sources.record_success(
            connection,
            source.id,
            now=look.now,
            plan=plan,
            last_new_at=last_new_at,
            complete=parsed is not None,
        )
        if source.breaker.failures:
            await dead_letter.resolve(connection, "poll", source.id, look.now)
        return feed_facts(facts_of(source, plan, Circuit.CLOSED, 0), parsed)


def feed_facts(facts: SourceFacts, parsed: ParsedFeed | None = None) -> SourceFacts:
    """The facts with the document's title, if it has one."""
    return facts.model_copy(update={"title": parsed.title}) if parsed and parsed.title else facts


def _sightings(feed: Feed, fetched: Fetched) -> tuple[str | None, int]:
    """The target of the site's permanent redirect, and how often in a row it was seen."""
    if fetched.moved_to is None or fetched.moved_to == feed.url:
        return None, 0
    return fetched.moved_to, feed.moved_sightings + 1 if fetched.moved_to == feed.moved_to else 1


def _answered(
    feed: Feed, fetched: Fetched, parsed: ParsedFeed | None, sightings: tuple[str | None, int]
) -> Feed:
    """The feed after an answer; a 304 without a validator keeps the old validator."""
    same = fetched.not_modified
    patience = fetched.patience(parsed.ttl_seconds if parsed else None)
    if parsed is None and patience is None:
        patience = feed.patience_seconds  # the ttl of the document that has not changed
    return replace(
        feed,
        etag=fetched.etag or (feed.etag if same else None),
        last_modified=fetched.last_modified or (feed.last_modified if same else None),
        document_hash=feed.document_hash if same else document_hash(fetched.body),
        moved_to=sightings[0],
        moved_sightings=sightings[1],
        patience_seconds=patience,
        gone=False,
    )


def document_hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def outcome_of(stored: Stored, feed: Feed) -> Outcome:
    if feed.first:
        return "first"
    return "idle" if stored.is_idle else "new"


def run_of(look: Look, outcome: Outcome, stored: Stored, fetched: Fetched | None = None) -> Run:
    """The record of a run; its document is kept if a replay could change something."""
    keep = fetched is not None and outcome in ("first", "new")
    return Run(
        source_id=look.source.id,
        outcome=outcome,
        started_at=look.now,
        finished_at=look.time(),
        replay_of=look.replay_of,
        http_status=fetched.status if fetched else None,
        size=len(fetched.body) if fetched else None,
        entries=stored.entries,
        new=stored.new,
        updated=stored.updated,
        renamed=stored.renamed,
        silent=stored.silent,
        failed=stored.failed,
        delivered=stored.delivered,
        flood=stored.flood,
        document=fetched.body if fetched and keep else None,
        content_type=fetched.content_type if fetched and keep else None,
    )


def refused_run(look: Look, wait: MustWait) -> Run:
    """The record of a look that the site refused for now; a retry is a new run."""
    return Run(
        source_id=look.source.id,
        outcome="failed",
        started_at=look.now,
        finished_at=look.time(),
        http_status=wait.http_status,
        error_code=wait.code,
        error=wait.message,
    )


def told_of(stored: Stored, *, first: bool) -> str:
    """The outcome for a document, in one line for people."""
    if first:
        return f"first reading: {stored.entries} entries of history"
    parts = [
        f"{count} {word}"
        for count, word in (
            (stored.new, "new"),
            (stored.updated, "edited"),
            (stored.renamed, "under new ids"),
            (stored.silent, "old ones"),
            (stored.failed, "failed"),
        )
        if count
    ]
    return ", ".join(parts) or "nothing new"


def feed_books(settings: Settings) -> FeedBooks:
    return FeedBooks(FeedStore(enrich=settings.enrich), poll_policy(settings))
