"""Storing the entries of a feed (I2–I4): judged, sanitised, written in one transaction."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.domain.errors import ErrorRecord, PermanentError
from fascicle.domain.feeds.canonical_url import canonical_url, provider_id, url_key
from fascicle.domain.feeds.feed import Entry, ParsedFeed
from fascicle.domain.feeds.news import Judged, Judgement, Verdict, all_keys, judge, listed_entry
from fascicle.domain.names import item_workflow_id
from fascicle.domain.plain_text import plain_line, storable
from fascicle.domain.urls import bare_host
from fascicle.process.logs import get_logger
from fascicle.storage.database import database_errors
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.feeds import item as items
from fascicle.storage.feeds.feed import Feed
from fascicle.storage.feeds.item import ItemRow
from fascicle.storage.operations import dead_letter

log = get_logger("fascicle.feed")

_UNTITLED_WORDS = 80
_LONGEST_TITLE = 500


@dataclass
class Stored:
    """The outcome for the entries of one document."""

    entries: int = 0
    new: int = 0
    updated: int = 0
    renamed: int = 0
    silent: int = 0
    failed: int = 0
    delivered: int = 0
    flood: bool = False
    published: list[datetime] = field(default_factory=list)
    """The publication dates of the new entries that have one."""

    @property
    def is_idle(self) -> bool:
        return not (self.new or self.updated or self.renamed or self.silent or self.failed)


@dataclass(frozen=True)
class _Times:
    began: datetime
    arrived: datetime


Prepare = Callable[[Judged, Feed, bool], ItemRow]


class FeedStore:
    """`prepare` turns an entry into a row; `enrich`: read the pages behind new items."""

    def __init__(self, *, enrich: bool, prepare: Prepare | None = None) -> None:
        self._enrich = enrich
        self._prepare = prepare or prepared

    async def store(
        self,
        connection: AsyncConnection,
        feed: Feed,
        parsed: ParsedFeed,
        now: datetime,
        *,
        arrived_at: datetime | None = None,
        replay: bool = False,
    ) -> Stored:
        """Store a whole document in the caller's transaction; the caller must hold the feed's lock.

        `now` is when the look began, `arrived_at` the time for the inboxes: sites may be slow.
        `replay`: an old document: missing entries are stored, known ones stay as they are.
        """
        times = _Times(now, arrived_at or now)
        judgement = await self._judged(connection, feed, parsed.entries)
        shared = _shared_addresses(parsed, feed, judgement)
        settled = (Verdict.KNOWN, Verdict.EDITED, Verdict.RENAMED) if replay else (Verdict.KNOWN,)
        changed = [j for j in judgement.entries if j.verdict not in settled]
        changed = await self._without_buried(connection, feed, changed)
        rows, failures = await asyncio.to_thread(self._prepared, changed, feed, shared)
        stored = Stored(entries=len(judgement.entries), flood=judgement.flood)
        try:
            async with database_errors(), connection.begin_nested():
                await self._write(connection, feed, rows, stored, times)
        except PermanentError as error:
            log.warning("entries_one_by_one", source_id=feed.source_id, error=error.message)
            failures += await self._write_one_by_one(connection, feed, rows, stored, times)
        await self._bury(connection, feed, failures, now)
        stored.failed = len(failures)
        if not replay:
            known = [j.listed.key for j in judgement.entries if j.verdict is Verdict.KNOWN]
            await items.touch(connection, feed.source_id, known, now)
            await feeds.describe(connection, feed.source_id, parsed, _newest(parsed.entries, now))
        return stored

    async def store_one(
        self, connection: AsyncConnection, feed: Feed, buried: "BuriedEntry", now: datetime
    ) -> Stored:
        """Store an entry that failed before. Does nothing if it is known by now; raises if it fails again."""
        listed = replace(listed_entry(buried.entry), key=buried.item_key)
        stored = Stored(entries=1)
        if await items.seen_under(connection, feed.source_id, [listed.key]):
            return stored
        judged = Judged(listed, Verdict.SILENT if buried.silent else Verdict.NEW)
        row = await asyncio.to_thread(self._prepare, judged, feed, listed.url_key != url_key(feed.url))
        await self._write(connection, feed, [(judged, row)], stored, _Times(now, now))
        return stored

    async def _judged(self, connection: AsyncConnection, feed: Feed, entries: Sequence[Entry]) -> Judgement:
        listed = await asyncio.to_thread(lambda: [listed_entry(entry) for entry in entries])
        known = await items.seen_under(connection, feed.source_id, all_keys(listed))
        strangers = [entry for entry in listed if entry.key not in known]
        alike = await items.seen_alike(connection, feed.source_id, strangers) if strangers else []
        return judge(
            listed,
            known=known,
            lookalikes=alike,
            first=feed.first,
            newest_published_at=feed.newest_published_at,
        )

    async def _without_buried(
        self, connection: AsyncConnection, feed: Feed, changed: list[Judged]
    ) -> list[Judged]:
        """Leave out entries whose dead letter waits for a person."""
        keys = [letter_key(feed.source_id, judged.listed.key) for judged in changed]
        buried = await dead_letter.settled_jobs(connection, "item", keys) if keys else set()
        return [judged for judged, key in zip(changed, keys, strict=True) if key not in buried]

    def _prepared(
        self, changed: Sequence[Judged], feed: Feed, shared: set[str]
    ) -> tuple[list[tuple[Judged, ItemRow]], list[tuple[Judged, Exception]]]:
        """An entry that cannot be prepared does not stop the others."""
        rows, failures = [], []
        for judged in changed:
            try:
                rows.append((judged, self._prepare(judged, feed, judged.listed.url_key not in shared)))
            except Exception as error:
                failures.append((judged, error))
        return rows, failures

    async def _write(
        self,
        connection: AsyncConnection,
        feed: Feed,
        rows: Sequence[tuple[Judged, ItemRow]],
        stored: Stored,
        times: "_Times",
    ) -> None:
        source_id, now = feed.source_id, times.began
        # Feeds list the newest first; insert the oldest first, so that ids follow the order of publication.
        fresh = [row for judged, row in reversed(rows) if judged.verdict in (Verdict.NEW, Verdict.SILENT)]
        edits = [row for _, row in rows if row.item_id is not None]
        await items.update(connection, source_id, edits, now)
        await items.find_or_add(connection, source_id, fresh, now)
        await items.note_seen(connection, source_id, [row for _, row in rows], now)
        news = [row.item_id for row in fresh if not row.silent and row.item_id is not None]
        stored.delivered += await items.deliver(connection, source_id, news, times.arrived)
        if self._enrich:
            await items.ask_for_enrichment(connection, news, now)
        _count(stored, rows)

    async def _write_one_by_one(
        self,
        connection: AsyncConnection,
        feed: Feed,
        rows: Sequence[tuple[Judged, ItemRow]],
        stored: Stored,
        times: "_Times",
    ) -> list[tuple[Judged, Exception]]:
        failures: list[tuple[Judged, Exception]] = []
        for judged, row in reversed(rows):
            row.item_id = judged.seen.item_id if judged.seen else None
            try:
                async with database_errors(), connection.begin_nested():
                    await self._write(connection, feed, [(judged, row)], stored, times)
            except PermanentError as error:
                failures.append((judged, error))
        return failures

    async def _bury(
        self,
        connection: AsyncConnection,
        feed: Feed,
        failures: Sequence[tuple[Judged, Exception]],
        now: datetime,
    ) -> None:
        for judged, error in failures:
            buried = BuriedEntry(
                source_id=feed.source_id,
                item_key=storable(judged.listed.key),
                entry=storable_entry(judged.listed.entry),
                silent=judged.verdict is not Verdict.NEW,
            )
            await bury_entry(connection, buried, _record(error), now)


class BuriedEntry(BaseModel):
    """A whole entry that could not be stored: the feed may not list it any more when it is replayed."""

    source_id: str
    item_key: str
    entry: Entry
    silent: bool = False


async def bury_entry(
    connection: AsyncConnection, buried: BuriedEntry, error: ErrorRecord, now: datetime
) -> None:
    await dead_letter.bury(
        connection,
        kind="item",
        job_key=letter_key(buried.source_id, buried.item_key),
        workflow_id=item_workflow_id(buried.source_id, buried.item_key),
        job_input=buried.model_dump(mode="json"),
        error=error,
        attempts=1,
        now=now,
    )


def letter_key(source_id: str, item_key: str) -> str:
    return storable(f"{source_id}:{item_key}")


def _record(error: Exception) -> ErrorRecord:
    return error.record(stage="store") if isinstance(error, PermanentError) else bad_entry(error)


def bad_entry(error: Exception) -> ErrorRecord:
    return ErrorRecord(
        error_type=type(error).__name__,
        error_code="bad_entry",
        message=storable(str(error))[:1000] or type(error).__name__,
        retryable=False,
        stage="sanitise",
    )


def storable_entry(entry: Entry) -> Entry:
    """The entry without characters that jsonb cannot store, and with its texts cut for a dead letter."""
    texts = {
        name: storable(value)[:50_000]
        for name in ("key", "guid", "url", "title", "summary", "content", "author")
        if isinstance(value := getattr(entry, name), str)
    }
    return entry.model_copy(update=texts)


def prepared(judged: Judged, feed: Feed, claims_url: bool) -> ItemRow:
    """The row of an entry; the process that parsed it has sanitised its HTML already."""
    listed, entry = judged.listed, judged.listed.entry
    url = canonical_url(entry.url) if entry.url else None
    provider = _provider(judged)
    return ItemRow(
        key=storable(listed.key),
        url_key=listed.url_key,
        title_key=storable(listed.title_key),
        content_hash=listed.content_hash,
        published_at=entry.published_at,
        title=_title(entry),
        url=url,
        summary=entry.summary,
        content=entry.content if entry.content != entry.summary else None,
        author=_line(entry.author),
        image_url=canonical_or_none(entry.image_url),
        media_url=canonical_or_none(entry.media_url),
        media_type=_line(entry.media_type),
        duration_seconds=entry.duration_seconds,
        language=_line(entry.language),
        categories=[plain_line(storable(tag), longest=100) for tag in entry.categories],
        provider=provider[0] if provider else None,
        provider_item_id=provider[1] if provider else None,
        claims_url=claims_url and listed.url_key is not None,
        silent=judged.verdict is not Verdict.NEW,
        titled=bool(entry.title),
        at_home=url is not None and bare_host(url) == bare_host(feed.url),
        item_id=judged.seen.item_id if judged.seen else None,
        was_key=judged.seen.key if judged.verdict is Verdict.RENAMED and judged.seen else None,
    )


def canonical_or_none(url: str | None) -> str | None:
    """The unchanged address of a picture or recording; None if it is not a usable address."""
    return url if url and canonical_url(url) else None


def _provider(judged: Judged) -> tuple[str, str] | None:
    """A podcast's id derives from the entry's key, so it is invalid if that key belongs to another entry."""
    entry = judged.listed.entry
    made_of_key = entry.provider == "podcast" and judged.listed.key != entry.key
    if entry.provider and entry.provider_item_id and not made_of_key:
        return entry.provider, storable(entry.provider_item_id)[:300]
    return provider_id(entry.url) if entry.url else None


def _title(entry: Entry) -> str:
    """The title, or else the first words, or the address: people need something to click on."""
    for text, longest in (
        (entry.title, _LONGEST_TITLE),
        (entry.summary, _UNTITLED_WORDS),
        (entry.content, _UNTITLED_WORDS),
        (entry.url, _LONGEST_TITLE),
    ):
        if text and (line := plain_line(storable(text[:5000]), longest=longest)):
            return line
    return "(untitled)"


def _line(text: str | None) -> str | None:
    return (plain_line(storable(text), longest=300) or None) if text else None


def _shared_addresses(parsed: ParsedFeed, feed: Feed, judgement: Judgement) -> set[str]:
    """Addresses that do not identify an entry: those of the feed and its site, or of several entries."""
    listed = Counter(j.listed.url_key for j in judgement.entries if j.listed.url_key)
    own = (url_key(url) for url in (parsed.site_url, feed.url) if url)
    return {key for key, count in listed.items() if count > 1} | {key for key in own if key}


def _newest(entries: Sequence[Entry], now: datetime) -> datetime | None:
    return max((min(e.published_at, now) for e in entries if e.published_at), default=None)


def _count(stored: Stored, rows: Sequence[tuple[Judged, ItemRow]]) -> None:
    verdicts = Counter(judged.verdict for judged, _ in rows)
    stored.new += verdicts[Verdict.NEW]
    stored.published += [
        row.published_at for judged, row in rows if judged.verdict is Verdict.NEW and row.published_at
    ]
    stored.silent += verdicts[Verdict.SILENT]
    stored.updated += verdicts[Verdict.EDITED]
    stored.renamed += verdicts[Verdict.RENAMED]
