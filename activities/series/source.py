"""Polling one source: read the newest uploads, update its row, return new chapters (C3)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from activities.watch import Watch, is_first_attempt, look_again, time_of_attempt
from fascicle.domain.errors import ErrorRecord, MustWait
from fascicle.domain.names import source_workflow_id
from fascicle.domain.series import breaker
from fascicle.domain.series.breaker import BreakerState, Circuit
from fascicle.domain.series.cadence import Cadence, Plan, cadence_of
from fascicle.domain.series.chapter import ListedChapter, Upload
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.jobs.feeds import EnrichItemInput
from fascicle.services.series.keyed_chapters import is_renumbered, keyed_chapters
from fascicle.services.series.lost_workers import WORKER_LOST, as_failure, noted_poll
from fascicle.services.series.next_check import PollPolicy, is_missed_by_sweep, next_check
from fascicle.services.series.source_facts import facts_of
from fascicle.sites.base import Sites
from fascicle.storage.database import statement, transaction
from fascicle.storage.feeds import run as runs
from fascicle.storage.feeds.run import Run
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.operations import dead_letter
from fascicle.storage.series import chapter as chapters
from fascicle.storage.series import source as sources
from fascicle.storage.series import source_loss
from fascicle.storage.series.source import Source
from fascicle.temporal.metrics import Metrics

# Failures on our side must not open the circuit of a source.
_OUR_OWN_FAULTS = ("database_down", WORKER_LOST)
_AFTER_OUR_OWN_FAULT = timedelta(seconds=30)
# One chapter may have thousands of uploads; the complete listing stores those beyond this limit.
UPLOADS_PER_CHILD = 50


class Wait(BaseModel):
    """Try again after `seconds`. `refused`: the site said so; otherwise our own gate."""

    seconds: float
    reason: str
    refused: bool
    by_hand: bool = False
    """A person paused the site: the wait counts against no job."""


class PollInput(BaseModel):
    source_id: str
    now: datetime
    woken: bool = False
    """The sweep found something new."""
    watch: Watch | None = None
    """Repeat the poll while there is nothing for the workflow to do; None: return every outcome."""


class PollResult(BaseModel):
    gone: bool = False
    wait: Wait | None = None
    chapters: list[ListedChapter] = []
    bulk: bool = False
    """Read and store the whole list: first sync, too much news for a workflow each, or the list is due."""
    owed: bool = False
    """Chapters stored earlier are still owed: the workflow that should have announced them failed."""
    items: list[EnrichItemInput] = []
    """For a feed: the items to enrich. The items themselves are stored with the poll."""
    told: str = ""
    """For a feed: the outcome for its document, for people."""
    pause: str = ""
    """The reason to pause the source until somebody resumes it; empty: no pause."""
    facts: SourceFacts | None = None
    looks: int = 1
    """How many looks a watched source took."""

    def is_idle(self, watch: Watch) -> bool:
        """True if there is nothing for the workflow to do or to show."""
        facts = self.facts
        if facts is None or self.gone or self.wait or self.bulk or self.pause:
            return False
        if self.chapters or self.items or self.owed:
            return False
        return (facts.cadence, facts.title, facts.circuit) == (watch.cadence, watch.title, Circuit.CLOSED)


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


class SourceActivities:
    def __init__(self, engine: AsyncEngine, sites: Sites, policy: PollPolicy, metrics: Metrics) -> None:
        self._engine = engine
        self._sites = sites
        self._policy = policy
        self._metrics = metrics

    @activity.defn
    async def poll_source(self, poll: PollInput) -> PollResult:
        """One poll. A poll that finds nothing costs only this activity."""
        poll = as_of_now(poll)
        async with heartbeating():
            async with statement(self._engine) as connection:
                source = await sources.get(connection, poll.source_id)
            if source is None or source.removed_at is not None:
                return PollResult(gone=True)
            await_next_check(source, poll)
            try:
                async with noted_poll(self._engine, source, watched=poll.watch is not None):
                    result = await self._poll(source, poll)
            except MustWait as wait:
                result = PollResult(wait=as_wait(wait), facts=facts_meanwhile(source, poll.now))
        if not result.bulk:  # backfill_source counts the reading of the whole list
            self._metrics.count_poll(source.site, _outcome(result))
        return watched(poll, result)

    async def _poll(self, source: Source, poll: PollInput) -> PollResult:
        now = poll.now
        everything = PollResult(bulk=True, facts=facts_meanwhile(source, now))
        # When the sweep woke us, fetch its news first: a listing would store them without child workflows.
        if source.first_synced_at is None or (not poll.woken and self._complete_listing_due(source, now)):
            return everything
        new = await self._look_for_new(source, now)
        if len(new) > self._policy.children_per_poll:
            return everything
        missed = not poll.woken and is_missed_by_sweep(source, self._policy, now, new)
        async with transaction(self._engine) as connection:
            if missed:
                await sources.note_sweep_miss(connection, source.id, now)
            facts = await record_success(
                connection,
                source,
                self._policy,
                now,
                now if new else None,
                # Woken, but nothing new: the list may lag behind the sweep, so plan the next poll ourselves.
                trust_sweep=not missed and (bool(new) or not poll.woken),
            )
            forgotten = now - self._policy.told_within
            owed = await chapters.owed_chapters(connection, source.id, limit=1, before=forgotten, now=now)
        return PollResult(chapters=new, owed=bool(owed), facts=facts)

    @activity.defn
    async def record_poll_failure(self, failure: PollFailure) -> SourceFacts | None:
        """Count a failed poll; the breaker may open. An error that needs a person becomes a dead letter."""
        async with transaction(self._engine) as connection:
            source = await sources.get(connection, failure.source_id)
            if source is None or source.removed_at is not None:
                return None
            if source.last_checked_at == failure.now:  # an earlier attempt counted it and died afterwards
                return _facts_as_noted(source, failure.now)
            if failure.error.error_code == WORKER_LOST:
                losses = await source_loss.count_loss(connection, source.id)
                failure = failure.model_copy(update={"error": as_failure(failure.error, losses)})
            state, plan = await self._after_failure(connection, source, failure)
            # Each refusal by the site has its own run row already.
            if source.is_feed and failure.error.error_type != MustWait.__name__:
                await runs.record(connection, failed_run(source.id, failure.now, failure.error))
            await sources.record_failure(
                connection, source.id, now=failure.now, state=state, plan=plan, error=failure.error
            )
            is_ours = failure.error.error_code in _OUR_OWN_FAULTS
            if not is_ours and (not failure.error.retryable or state.circuit is Circuit.OPEN):
                await self._bury(connection, failure)
        self._metrics.count_poll(source.site, "failed")
        return facts_of(source, plan, state.circuit, state.failures)

    @activity.defn
    async def record_pause(self, pause: PauseInput) -> None:
        async with transaction(self._engine) as connection:
            await sources.set_paused(connection, pause.source_id, pause.paused_at, pause.reason)

    @activity.defn
    async def pin_cadence(self, pin: PinInput) -> SourceFacts | None:
        """Store a person's choice of cadence; None: by the rule. The next poll may only come sooner."""
        async with transaction(self._engine) as connection:
            await sources.pin_cadence(connection, pin.source_id, pin.cadence)
            source = await sources.get(connection, pin.source_id)
            if source is None:
                return None
            plan = await next_check(connection, source, self._policy, pin.now)
            due = source.next_check_at or pin.now
            if source.breaker.circuit is not Circuit.CLOSED or due < plan.next_check_at:
                plan = Plan(cadence=plan.cadence, next_check_at=due, reason=source.next_check_reason or "")
            await sources.set_next_check(connection, source.id, plan)
        return facts_of(source, plan, source.breaker.circuit, source.breaker.failures)

    async def _look_for_new(self, source: Source, now: datetime) -> list[ListedChapter]:
        """Read page by page, newest first, until a page contains nothing unknown."""
        site = self._sites.named(source.site)
        found: dict[str, ListedChapter] = {}
        cursor: str | None = None
        while True:
            page = await site.newest(source.site_key, source.languages, cursor)
            all_known, new = await self._store_known_and_find_new(source, page.uploads, now, found)
            found.update((c.key, c) for c in new)
            cursor = page.next_cursor
            if all_known or cursor is None or len(found) > self._policy.children_per_poll:
                return list(found.values())

    async def _store_known_and_find_new(
        self,
        source: Source,
        uploads: Sequence[Upload],
        now: datetime,
        found: Mapping[str, ListedChapter],
    ) -> tuple[bool, list[ListedChapter]]:
        """Store new uploads of known chapters. Returns whether all were known, and the chapters to ingest.

        `found`: chapters of earlier pages, whose keys are assigned but not stored yet.
        """
        async with transaction(self._engine) as connection:
            known = await chapters.known_uploads(connection, source.id, uploads)
            unknown = {u.upload_id for u in uploads if u.upload_id not in known}
            if not unknown and not any(is_renumbered(u, known) for u in uploads):
                return True, []
            listed = await keyed_chapters(connection, source, uploads, known, found)
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
            with_new_uploads = {c.key for c in listed if any(u.upload_id in unknown for u in c.uploads)}
            await notifications.owe_new_languages(
                connection, source.series_id, with_new_uploads - left_out, now
            )
        return False, [ListedChapter(key=c.key, uploads=c.uploads[:UPLOADS_PER_CHILD]) for c in new]

    async def _after_failure(
        self, connection: AsyncConnection, source: Source, failure: PollFailure
    ) -> tuple[BreakerState, Plan]:
        """The breaker's state and the next poll. After a failure, do not rely on the sweep."""
        usual = await next_check(connection, source, self._policy, failure.now, trust_sweep=False)
        if failure.error.error_code in _OUR_OWN_FAULTS:
            wait = max(_AFTER_OUR_OWN_FAULT, self._policy.feed_shortest if source.is_feed else timedelta(0))
            soon = min(usual.next_check_at, failure.now + wait)
            return source.breaker, Plan(cadence=usual.cadence, next_check_at=soon, reason="a fault of ours")
        state = breaker.after_failure(source.breaker, self._policy.breaker, failure.now)
        if state.probe_at is None:
            return state, usual
        return state, Plan(
            cadence=usual.cadence, next_check_at=state.probe_at, reason="circuit open: a probe"
        )

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


def as_of_now(poll: PollInput) -> PollInput:
    """The poll with the time of this attempt: a watched source is polled many times with one input."""
    return poll if poll.watch is None else poll.model_copy(update={"now": time_of_attempt(poll.now)})


def await_next_check(source: Source, poll: PollInput) -> None:
    """A watch that continues after an interruption does not poll before the source is due."""
    due, now = source.next_check_at, poll.now
    if poll.watch and poll.watch.resumed and is_first_attempt() and due is not None and due > now:
        raise look_again(due, now, "not due yet", source.next_check_reason or "")


def watched(poll: PollInput, result: PollResult) -> PollResult:
    """The result if the workflow must act on it; otherwise raises, so that Temporal repeats the poll."""
    if poll.watch is None:
        return result
    if result.facts is not None and result.is_idle(poll.watch):
        facts = result.facts
        raise look_again(facts.next_check_at, poll.now, result.told or "nothing new", facts.reason)
    return result.model_copy(update={"looks": activity.info().attempt})


def facts_meanwhile(source: Source, now: datetime) -> SourceFacts:
    """The facts during a poll: the source stays due until the poll is over."""
    cadence = cadence_of(last_new_at=source.last_new_at, now=now, pinned=source.pinned_cadence)
    circuit = breaker.at_poll(source.breaker, now).circuit
    plan = Plan(cadence=cadence, next_check_at=now, reason="this poll")
    return facts_of(source, plan, circuit, source.breaker.failures)


def _facts_as_noted(source: Source, now: datetime) -> SourceFacts:
    cadence = cadence_of(last_new_at=source.last_new_at, now=now, pinned=source.pinned_cadence)
    due, reason = source.next_check_at or now, source.next_check_reason or ""
    plan = Plan(cadence=cadence, next_check_at=due, reason=reason)
    return facts_of(source, plan, source.breaker.circuit, source.breaker.failures)


def failed_run(source_id: str, now: datetime, error: ErrorRecord) -> Run:
    return Run(
        source_id=source_id,
        outcome="failed",
        started_at=now,
        finished_at=now,
        http_status=error.http_status,
        error_code=error.error_code,
        error=error.message,
    )


def _outcome(result: PollResult) -> str:
    if result.wait:
        return "wait"
    return "new" if result.chapters else "idle"


def as_wait(wait: MustWait) -> Wait:
    return Wait(seconds=wait.seconds, reason=wait.message, refused=wait.refused, by_hand=wait.by_hand)


async def record_success(
    connection: AsyncConnection,
    source: Source,
    policy: PollPolicy,
    now: datetime,
    last_new_at: datetime | None,
    *,
    complete: bool = False,
    trust_sweep: bool = True,
) -> SourceFacts:
    """Store a good poll: close the circuit, set the next check, resolve the poll's dead letter."""
    plan = await next_check(connection, source, policy, now, last_new_at=last_new_at, trust_sweep=trust_sweep)
    stored = await sources.record_success(
        connection, source.id, now=now, plan=plan, last_new_at=last_new_at, complete=complete
    )
    if source.breaker.failures:
        await dead_letter.resolve(connection, "poll", source.id, now)
    return facts_of(source, plan, Circuit.CLOSED, 0, stored)
