"""Feeds whose worker is killed while each of them is at another moment. One kill strikes four.

storing     its document is read and all but delivered: somebody keeps the inboxes closed
asking      the site's answer is on its way; until the worker is back, all ids of the feed have changed
stored      inbox rows and all are committed, and nobody was told: the commit is held until the worker is dead
enriching   the page behind its new item is on its way
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from fascicle.domain.names import source_workflow_id
from fascicle.storage.database import transaction
from simulator.faults import Fault
from simulator.feeds.records import EntrySpec, FeedPatch
from tests.chaos.feed_books import FeedBooks, Holding, read_feed_books
from tests.feeds import feed, read
from tests.harness import eventually
from tests.starter.forked_workers import ForkedWorkers
from tests.starter.services import Site

STRUCK = ("storing", "asking", "stored")
FEEDS = (*STRUCK, "enriching")
# Lists pages of the others too, for one reader of theirs and one of its own.
PLANET = "planet"
READERS = {**dict.fromkeys(FEEDS, ("ann", "ben", "cid")), PLANET: ("ann", "dora")}
HISTORY = 4
RECOVERY_SECONDS = 90
SETTINGS: dict[str, Any] = {
    "feed_interval_seconds": 0,
    "enrich": True,
    "enrich_interval_seconds": 0,
}

_LOCK = 6
# Whoever comes by waits until nobody has the lock, in the middle of a transaction or of its commit.
_HOLD = f"""create function hold() returns trigger language plpgsql as
$$ begin perform pg_advisory_xact_lock_shared({_LOCK}); return new; end $$"""
_HOLD_WRITING = """create trigger hold_writing before insert on inbox_item
for each row when (new.source_id = '{storing}') execute function hold()"""
_HOLD_COMMIT = """create constraint trigger hold_commit after insert on inbox_item
deferrable initially deferred for each row when (new.source_id = '{stored}') execute function hold()"""
_WAITING = """select count(*) from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'"""


@dataclass(frozen=True)
class FeedReport:
    expected: set[Holding]
    at_the_kill: Counter[Holding]
    books: FeedBooks
    polls_again: set[str]
    """Feeds of which an attempt at a poll was lost with the worker."""


class FeedExperiment:
    def __init__(self, site: Site, workers: ForkedWorkers) -> None:
        self._site = site
        self._harness = site.harness
        self._workers = workers
        self._sources: dict[str, str] = {}
        self._expected: set[Holding] = set()

    async def run(self) -> FeedReport:
        async with self._workers.start(self._site.folder, self._site.env) as worker:
            await self._site.until_ready()
            await self._subscribe()
            async with self._everybody_held():
                worker.kill()
                at_the_kill = (await read_feed_books(self._harness)).inboxes
        await eventually(lambda: self._has_arrived("stored"), what="the commit that nobody heard of")
        self._publish_during_the_outage()
        before = await self._runs()
        async with self._workers.start(self._site.folder, self._site.env):
            await self._until_looked_at_since(before, STRUCK)
            self._publish("after", HISTORY, FEEDS, shared=FEEDS)
            await self._poll(*FEEDS, PLANET)
            await eventually(self._all_enriched, within=RECOVERY_SECONDS, what="every item enriched")
            await self._poll(*FEEDS, PLANET)
        books = await read_feed_books(self._harness)
        return FeedReport(self._expected, at_the_kill, books, await self._lost_attempts())

    async def _subscribe(self) -> None:
        """Storing and stored list no more than a few entries: what they miss once is missed for good."""
        long_ago = datetime.now(UTC) - timedelta(days=9)
        for name, readers in READERS.items():
            window = HISTORY if name in ("storing", "stored") else 50
            url = feed(self._harness, name, entries=0, window=window)
            self._add(name, (EntrySpec(title=f"{name} {n}", published_at=long_ago) for n in range(HISTORY)))
            for reader in readers:
                self._sources[name] = (await read(self._harness, reader, url)).source_id

    def _add(self, name: str, specs: Iterable[EntrySpec]) -> list[str]:
        """The addresses of their pages."""
        added = self._harness.simulator.feeds.add_entries(name, specs)
        return [entry.link or f"/feeds{entry.path}" for entry in added]

    def _publish(self, when: str, count: int, feeds: Iterable[str], shared: Iterable[str]) -> None:
        """News of these feeds; the first of those that are shared is in the planet, too."""
        for name in feeds:
            pages = self._add(name, [EntrySpec(title=f"{name} {when} {n}") for n in range(count)])
            self._expect(name, pages)
            if name in shared:
                self._expect(PLANET, self._add(PLANET, [EntrySpec(title=f"{name} {when}", link=pages[0])]))

    def _expect(self, name: str, pages: Iterable[str]) -> None:
        self._expected |= {(reader, page) for page in pages for reader in READERS[name]}

    @asynccontextmanager
    async def _everybody_held(self) -> AsyncIterator[None]:
        """Each feed at its moment, until the end."""
        for statement in (_HOLD, _HOLD_WRITING, _HOLD_COMMIT):
            await self._harness.execute(statement.format(**self._sources))
        faults = self._harness.simulator.faults
        answer = faults.add(Fault(kind="hold", hold="after", path="/feeds/asking", count=1))
        page = faults.add(Fault(kind="hold", hold="after", path="/feeds/enriching/", count=1))
        # Who lists a page that somebody else is just storing has to wait for them.
        self._publish("before", 2, FEEDS, shared=("asking", "enriching"))
        async with transaction(self._harness.dependencies.engine) as connection:
            await connection.execute(text(f"select pg_advisory_xact_lock({_LOCK})"))
            await self._signal(*FEEDS, PLANET)

            async def held() -> bool:
                waiting = await self._harness.value(_WAITING)
                due = await self._harness.value("select count(*) from item where enrich = 'due'")
                return bool(waiting == 2 and due == 1 and answer.report().held and page.report().held)

            await eventually(held, what="every feed at its moment")
            yield
        faults.clear()

    def _publish_during_the_outage(self) -> None:
        self._harness.simulator.feeds.change_feed("asking", FeedPatch(guid_prefix="moved-"))
        still = ("asking", "enriching")
        self._publish("meanwhile", 1, still, shared=still)

    async def _poll(self, *names: str) -> None:
        before = await self._runs()
        await self._signal(*names)
        await self._until_looked_at_since(before, names)

    async def _signal(self, *names: str) -> None:
        for name in names:
            workflow = source_workflow_id(self._sources[name])
            await self._harness.client.get_workflow_handle(workflow).signal("poll_now")

    async def _until_looked_at_since(self, before: Counter[str], names: Iterable[str]) -> None:
        async def looked_at() -> bool:
            now = await self._runs()
            return all(now[self._sources[name]] > before[self._sources[name]] for name in names)

        await eventually(looked_at, within=RECOVERY_SECONDS, what="a look at every feed")

    async def _runs(self) -> Counter[str]:
        rows = await self._harness.rows("select source_id from ingestion_run")
        return Counter(row["source_id"] for row in rows)

    async def _has_arrived(self, name: str) -> bool:
        """Whether somebody has something of this feed."""
        source_id = self._sources[name]
        found = "select exists (select from inbox_item where source_id = :id)"
        return bool(await self._harness.value(found, id=source_id))

    async def _all_enriched(self) -> bool:
        return not await self._harness.value("select count(*) from item where enrich = 'due'")

    async def _lost_attempts(self) -> set[str]:
        lost = set()
        for name, source_id in self._sources.items():
            handle = self._harness.client.get_workflow_handle(source_workflow_id(source_id))
            async for event in handle.fetch_history_events():
                if event.activity_task_started_event_attributes.attempt > 1:
                    lost.add(name)
        return lost
