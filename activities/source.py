"""Polling one source: look at the newest uploads, keep the books, say what is new (C3)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from activities.metrics import Metrics
from fascicle.domain import breaker
from fascicle.domain.breaker import BreakerPolicy, BreakerState, Circuit
from fascicle.domain.cadence import Cadence, cadence_of, poll_delay
from fascicle.domain.chapter import ListedChapter, Upload, fold_uploads
from fascicle.domain.chapter_key import assign_keys, number_of
from fascicle.domain.errors import ErrorRecord, MustWait
from fascicle.domain.names import source_workflow_id
from fascicle.sites.base import Sites
from fascicle.storage import chapter as chapters
from fascicle.storage import dead_letter
from fascicle.storage import source as sources
from fascicle.storage.chapter import KnownUpload
from fascicle.storage.database import transaction
from fascicle.storage.source import Source

# Failures of ours must not open the circuit of a source that did nothing wrong.
_OUR_OWN_FAULTS = ("database_down", "worker_lost")
_AFTER_OUR_OWN_FAULT = timedelta(seconds=30)
# One chapter may have thousands of uploads; the complete listing stores those that do not fit a message.
_UPLOADS_PER_CHILD = 50


class SourceFacts(BaseModel):
    """What the workflow shows of its source and steers by."""

    site: str
    series_id: str
    title: str
    cadence: Cadence
    circuit: Circuit
    failure_count: int = 0
    next_check_at: datetime


class Wait(BaseModel):
    """Not now: come back after `seconds`. `refused`: the site said so; else it is our own gate's queue."""

    seconds: float
    reason: str
    refused: bool


class PollInput(BaseModel):
    source_id: str
    now: datetime


class PollResult(BaseModel):
    gone: bool = False
    wait: Wait | None = None
    chapters: list[ListedChapter] = []
    bulk: bool = False
    """The whole list is to be read and stored: first sync, too much news for a workflow each, or its time."""
    owed: bool = False
    """Chapters stored earlier are still to be told: the one who should have done it failed."""
    facts: SourceFacts | None = None


class PollFailure(BaseModel):
    source_id: str
    now: datetime
    error: ErrorRecord
    attempts: int


class PauseInput(BaseModel):
    source_id: str
    paused_at: datetime | None
    reason: str = ""


class PinInput(BaseModel):
    source_id: str
    cadence: Cadence | None
    now: datetime


@dataclass(frozen=True)
class PollPolicy:
    intervals: Mapping[Cadence, timedelta]
    breaker: BreakerPolicy
    complete_every: timedelta
    children_per_poll: int


class SourceActivities:
    def __init__(self, engine: AsyncEngine, sites: Sites, policy: PollPolicy, metrics: Metrics) -> None:
        self._engine = engine
        self._sites = sites
        self._policy = policy
        self._metrics = metrics

    @activity.defn
    async def poll_source(self, poll: PollInput) -> PollResult:
        """One poll. Finding nothing costs this activity and nothing else."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                source = await sources.get(connection, poll.source_id)
            if source is None or source.removed_at is not None:
                return PollResult(gone=True)
            result = await self._poll(source, poll.now)
        if not result.bulk:  # reading the whole list is counted where it is done
            self._metrics.count_poll(source.site, _outcome(result))
        return result

    async def _poll(self, source: Source, now: datetime) -> PollResult:
        if source.first_synced_at is None:
            return PollResult(bulk=True, facts=self._facts(source, now))
        try:
            new = await self._look_for_new(source, now)
        except MustWait as wait:
            return PollResult(wait=as_wait(wait), facts=self._facts(source, now))
        if len(new) > self._policy.children_per_poll:
            return PollResult(bulk=True, facts=self._facts(source, now))
        # With news at hand the listing can wait: it must not store, silently, what a child is about to tell.
        if not new and self._complete_listing_due(source, now):
            return PollResult(bulk=True, facts=self._facts(source, now))
        async with transaction(self._engine) as connection:
            facts = await record_success(connection, source, self._policy, now, now if new else None)
            owed = await chapters.owed_chapters(connection, source.id, after=0, limit=1)
        return PollResult(chapters=new, owed=bool(owed), facts=facts)

    @activity.defn
    async def record_poll_failure(self, failure: PollFailure) -> SourceFacts | None:
        """Count a failed poll; open the circuit at the fifth; bury what will not get better by itself."""
        async with transaction(self._engine) as connection:
            source = await sources.get(connection, failure.source_id)
            if source is None or source.removed_at is not None:
                return None
            state, next_check_at, cadence = self._after_failure(source, failure)
            await sources.record_failure(
                connection,
                source.id,
                now=failure.now,
                state=state,
                next_check_at=next_check_at,
                error=failure.error,
            )
            is_ours = failure.error.error_code in _OUR_OWN_FAULTS
            if not is_ours and (not failure.error.retryable or state.circuit is Circuit.OPEN):
                await self._bury(connection, failure)
        self._metrics.count_poll(source.site, "failed")
        return _facts(source, cadence, state.circuit, state.failures, next_check_at)

    @activity.defn
    async def record_pause(self, pause: PauseInput) -> None:
        async with transaction(self._engine) as connection:
            await sources.set_paused(connection, pause.source_id, pause.paused_at, pause.reason)

    @activity.defn
    async def pin_cadence(self, pin: PinInput) -> SourceFacts | None:
        """A person's choice of cadence; None: by the rule. The next look may only come sooner."""
        async with transaction(self._engine) as connection:
            await sources.pin_cadence(connection, pin.source_id, pin.cadence)
            source = await sources.get(connection, pin.source_id)
            if source is None:
                return None
            facts = self._facts(source, pin.now)
            due = source.next_check_at or pin.now
            is_closed = source.breaker.circuit is Circuit.CLOSED
            facts.next_check_at = min(due, facts.next_check_at) if is_closed else due
            await sources.set_next_check(connection, source.id, facts.next_check_at)
        return facts

    async def _look_for_new(self, source: Source, now: datetime) -> list[ListedChapter]:
        """Newest first, page by page, until a page holds nothing unknown."""
        site = self._sites.named(source.site)
        found: dict[str, ListedChapter] = {}
        cursor: str | None = None
        while True:
            page = await site.newest(source.site_key, source.languages, cursor)
            all_known, new = await self._compare(source, page.uploads, now)
            found.update((c.key, c) for c in new)
            cursor = page.next_cursor
            if all_known or cursor is None or len(found) > self._policy.children_per_poll:
                return list(found.values())

    async def _compare(
        self, source: Source, uploads: Sequence[Upload], now: datetime
    ) -> tuple[bool, list[ListedChapter]]:
        """Were all uploads known, and the chapters to ingest. Known chapters' new uploads are stored here."""
        async with transaction(self._engine) as connection:
            known = await chapters.known_uploads(connection, source.id, uploads)
            unknown = {u.upload_id for u in uploads if u.upload_id not in known}
            if not unknown and not any(is_renumbered(u, known) for u in uploads):
                return True, []
            listed = await keyed_chapters(connection, source, uploads, known)
            stored, buried = await chapters.settled_keys(connection, source.id, [c.key for c in listed])
            new = [
                c
                for c in listed
                if c.key not in stored | buried
                and not c.best.unavailable
                and any(u.upload_id in unknown for u in c.uploads)
            ]
            left_out = buried | {c.key for c in new}
            await chapters.fold_in(
                connection,
                source_id=source.id,
                series_id=source.series_id,
                chapters=[c for c in listed if c.key not in left_out],
                news=(),
                now=now,
            )
        return False, [ListedChapter(key=c.key, uploads=c.uploads[:_UPLOADS_PER_CHILD]) for c in new]

    def _after_failure(self, source: Source, failure: PollFailure) -> tuple[BreakerState, datetime, Cadence]:
        """The breaker, the time of the next look, and the cadence."""
        cadence = cadence_of(last_new_at=source.last_new_at, now=failure.now, pinned=source.pinned_cadence)
        usual = poll_delay(cadence, self._policy.intervals, random.uniform(-1, 1))  # noqa: S311
        if failure.error.error_code in _OUR_OWN_FAULTS:
            return source.breaker, failure.now + min(usual, _AFTER_OUR_OWN_FAULT), cadence
        state = breaker.after_failure(source.breaker, self._policy.breaker, failure.now)
        return state, state.probe_at or failure.now + usual, cadence

    async def _bury(self, connection: AsyncConnection, failure: PollFailure) -> None:
        await dead_letter.bury(
            connection,
            kind="poll",
            job_key=failure.source_id,
            workflow_id=source_workflow_id(failure.source_id),
            job_input={"source_id": failure.source_id},
            error=failure.error,
            attempts=failure.attempts,
            now=failure.now,
        )

    def _complete_listing_due(self, source: Source, now: datetime) -> bool:
        last = source.complete_listing_at
        return last is None or now - last >= self._policy.complete_every

    def _facts(self, source: Source, now: datetime) -> SourceFacts:
        cadence = cadence_of(last_new_at=source.last_new_at, now=now, pinned=source.pinned_cadence)
        circuit = breaker.at_poll(source.breaker, now).circuit
        delay = poll_delay(cadence, self._policy.intervals, random.uniform(-1, 1))  # noqa: S311
        return _facts(source, cadence, circuit, source.breaker.failures, now + delay)


def _facts(
    source: Source, cadence: Cadence, circuit: Circuit, failures: int, next_check_at: datetime
) -> SourceFacts:
    return SourceFacts(
        site=source.site,
        series_id=source.series_id,
        title=source.title,
        cadence=cadence,
        circuit=circuit,
        failure_count=failures,
        next_check_at=next_check_at,
    )


def _outcome(result: PollResult) -> str:
    if result.wait:
        return "wait"
    return "new" if result.chapters else "idle"


def as_wait(wait: MustWait) -> Wait:
    return Wait(seconds=wait.seconds, reason=wait.message, refused=wait.refused)


def is_renumbered(upload: Upload, known: Mapping[str, KnownUpload]) -> bool:
    stored = known.get(upload.upload_id)
    return stored is not None and stored.raw_number != upload.number


async def keyed_chapters(
    connection: AsyncConnection,
    source: Source,
    uploads: Sequence[Upload],
    known: Mapping[str, KnownUpload],
) -> list[ListedChapter]:
    """The uploads as chapters: keys once given are kept, the others get theirs."""
    keyless = [u for u in uploads if u.upload_id not in known or is_renumbered(u, known)]
    numbers = {number for u in keyless if (number := number_of(u.number)) is not None}
    taken = await chapters.keys_with_numbers(connection, source.id, numbers)
    keys = {upload_id: stored.key for upload_id, stored in known.items()}
    keys |= assign_keys(keyless, taken, per_volume=source.numbering_restarts)
    return fold_uploads(uploads, keys, source.languages)


async def record_success(
    connection: AsyncConnection,
    source: Source,
    policy: PollPolicy,
    now: datetime,
    last_new_at: datetime | None,
    *,
    complete: bool = False,
) -> SourceFacts:
    """Books of a good poll: circuit closed, next check set, the poll's dead letter settled."""
    newest = max((t for t in (source.last_new_at, last_new_at) if t), default=None)
    cadence = cadence_of(last_new_at=newest, now=now, pinned=source.pinned_cadence)
    next_check_at = now + poll_delay(cadence, policy.intervals, random.uniform(-1, 1))  # noqa: S311
    await sources.record_success(
        connection,
        source.id,
        now=now,
        cadence=cadence,
        next_check_at=next_check_at,
        last_new_at=last_new_at,
        complete=complete,
    )
    if source.breaker.failures:
        await dead_letter.resolve(connection, "poll", source.id, now)
    return _facts(source, cadence, Circuit.CLOSED, 0, next_check_at)
