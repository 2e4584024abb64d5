"""The steps of a fic in the queue (F1, F3, F7, F9). Each makes at most one request to the site and commits
its result, so that a crash repeats no earlier request."""

import random
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity
from temporalio.client import Client

from activities.heartbeat import heartbeating
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import ErrorRecord, MustWait, PermanentError, UsageError
from fascicle.domain.fics.fic import (
    FINISHED,
    Fic,
    FicCode,
    FicRef,
    FicView,
    JobState,
    SeriesPage,
    Subscription,
)
from fascicle.domain.fics.fic_plan import FicPlan, FicPlanInput
from fascicle.process.logs import get_logger
from fascicle.services.fics.next_step import FicPlanner
from fascicle.services.fics.result import NOT_ITS_FAULT, Reader, conclude, fic_code, first_page_missing
from fascicle.services.fics.turns import call_next
from fascicle.services.series.lost_workers import LOSSES_UNTIL_FAILURE, WORKER_LOST
from fascicle.sites.fic import Ao3, Elsewhere, Fetched, OtherFicSites, Outcome
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job as jobs
from fascicle.storage.fics import fic_page as saved_pages
from fascicle.storage.operations import gate as gates
from fascicle.storage.series import library
from fascicle.temporal.metrics import Metrics

# Waiting for these does not count as an attempt: they do not come from the fic.
_PATIENT = frozenset({"gate_wait", FicCode.RATE_LIMITED, FicCode.TRANSIENT, "unavailable"})
_MOST_PAGES = 100
_OPERATOR_SECONDS = 60.0

log = get_logger("fascicle.fic")


class EnlistInput(BaseModel):
    ref: FicRef
    subscriptions: list[Subscription]
    now: datetime


class FicStepInput(BaseModel):
    key: str
    round: int
    now: datetime


class FicStepResult(BaseModel):
    plan: FicPlan | None = None
    wait_seconds: float | None = None
    why: str = ""


class FicFailureInput(BaseModel):
    key: str
    round: int
    error: ErrorRecord
    now: datetime


class FicActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        client: Client,
        planner: FicPlanner,
        ao3: Ao3,
        others: OtherFicSites,
        reader: Reader,
        metrics: Metrics,
    ) -> None:
        self._engine = engine
        self._client = client
        self._planner = planner
        self._ao3 = ao3
        self._others = others
        self._reader = reader
        self._metrics = metrics

    @activity.defn
    async def enlist_subscribers(self, enlist: EnlistInput) -> FicView:
        """Add a job for the fic if there is none, and subscribe everybody who asked. Returns the job."""
        key, now = enlist.ref.key, enlist.now
        async with transaction(self._engine) as connection:
            await jobs.open_job(connection, enlist.ref, now)
            job = await jobs.find(connection, key, lock=True)
            assert job is not None
            if job["state"] in FINISHED and await _is_to_be_read_again(connection, job, enlist):
                await jobs.begin_round(connection, key, now)
                if job["state"] == JobState.ERROR:
                    await jobs.subscribe_earlier_ones(connection, key)
            # Sorted, so that two such activities do not deadlock.
            for asked in sorted(enlist.subscriptions, key=lambda asked: asked.user):
                user_id = await library.find_user(connection, asked.user)
                if user_id is None:
                    user_id, _ = await library.add_user(connection, asked.user)
                waits = now + timedelta(seconds=asked.waits_seconds) if asked.waits_seconds > 0 else None
                await jobs.subscribe(
                    connection, key, user_id, note=asked.note, tags=asked.tags, waits_until=waits
                )
            shown = await self._planner.view(connection, key)
        assert shown is not None
        # Hundreds of these answers may go into the workflow's history, so leave out the fic's data.
        return shown.model_copy(update={"fic": None, "works": []})

    @activity.defn
    async def plan_fic(self, wanted: FicPlanInput) -> FicPlan:
        return await self._planner.plan(wanted)

    @activity.defn
    async def fetch_fic(self, step: FicStepInput) -> FicStepResult:
        """Make one request, or read a page that is stored already."""
        async with heartbeating():
            async with transaction(self._engine) as connection:
                job = await jobs.find(connection, step.key)
            if job is not None and job["round"] == step.round and job["state"] not in FINISHED:
                try:
                    await self._fetch(job, step.now)
                except MustWait as wait:
                    return await self._must_wait(step, wait)
            return FicStepResult(plan=await self._plan(step.key, step.now))

    async def _fetch(self, job: dict[str, Any], now: datetime) -> None:
        self._check_rules()
        ref = FicRef(site=job["site"], kind=job["kind"], id=job["site_id"], url=job["url"])
        async with transaction(self._engine) as connection:
            fetched, given = await saved_pages.fetched_and_given(connection, ref.key)
        try:
            outcome = await self._outcome(job, ref, fetched, given)
        except PermanentError:
            if given is not None or not await self._was_given(ref):
                raise
            return  # a person gave the page meanwhile: it is read next
        await self._keep(job, ref, outcome, now)

    async def _outcome(
        self, job: dict[str, Any], ref: FicRef, fetched: dict[str, bytes], given: bytes | None
    ) -> Outcome:
        if given is not None:
            return await self._reader.read_saved(ref, given)
        if ref.site == "ao3":
            hops = job["requests"] - len(job["pages"])
            return await self._ao3.fetch(ref, job["next_url"], hops=hops)
        return await self._others.fetch(ref, fetched)

    def _check_rules(self) -> None:
        """Checked before any request: the operator must first fix rules that cannot be read."""
        try:
            self._reader.rules()
        except UsageError as error:
            raise MustWait("gate_wait", error.message, seconds=_OPERATOR_SECONDS, refused=False) from error

    async def _keep(self, job: dict[str, Any], ref: FicRef, outcome: Outcome, now: datetime) -> None:
        if isinstance(outcome, Elsewhere):
            async with transaction(self._engine) as connection:
                await jobs.go_on(connection, ref.key, job["round"], outcome.url)
        elif isinstance(outcome, Fetched):
            async with transaction(self._engine) as connection:
                # Keep no page of a job that was cleared meanwhile: the next job would take it for a new one.
                if await jobs.go_on(connection, ref.key, job["round"], outcome.url):
                    await saved_pages.keep(connection, ref.key, outcome.url, outcome.body)
        elif isinstance(outcome, SeriesPage):
            await self._keep_series_page(job, ref, outcome, now)
        else:
            await self._finish(job, ref, outcome, now)

    async def _keep_series_page(
        self, job: dict[str, Any], ref: FicRef, page: SeriesPage, now: datetime
    ) -> None:
        given = await self._was_given(ref)
        if given and page.page != 1:
            raise first_page_missing(page)
        # Count the pages instead of using the page's own number: a misread number would loop for ever.
        pages = [*(SeriesPage.model_validate(kept) for kept in job["pages"]), page]
        if len(pages) >= min(page.pages, _MOST_PAGES):
            await self._finish(job, ref, pages, now)
            return
        async with transaction(self._engine) as connection:
            if given:  # this was the first page; the others are fetched from AO3
                await saved_pages.forget(connection, ref.key)
            if given and job["pages"]:
                return
            following = self._ao3.page_url(ref, len(pages) + 1)
            kept = [p.model_dump(mode="json") for p in pages]
            await jobs.go_on(connection, ref.key, job["round"], following, pages=kept)

    async def _was_given(self, ref: FicRef) -> bool:
        async with transaction(self._engine) as connection:
            return await saved_pages.has_given(connection, ref.key)

    async def _finish(
        self, job: dict[str, Any], ref: FicRef, read: Fic | list[SeriesPage], now: datetime
    ) -> None:
        """In one transaction: store the data, the verdict, the job's end, and the messages to subscribers."""
        async with transaction(self._engine) as connection:
            # Lock the job before judging: an override that comes now waits, and then sees the verdict.
            await jobs.find(connection, ref.key, lock=True)
            concluded = await conclude(connection, ref, read, self._reader.rules(), now)
            ended = await jobs.finish(
                connection,
                ref.key,
                job["round"],
                concluded.state,
                now=now,
                reasons=concluded.reasons,
                works=concluded.works,
            )
            if not ended:  # cleared meanwhile: the data is kept, but nobody is notified
                return
            await self._ended(connection, job, "failed" if concluded.state is JobState.NOTP else "done", now)
        self._metrics.count_fic(ref.site, concluded.state)
        await call_next(self._engine, self._client, ref.site)

    async def _ended(
        self, connection: AsyncConnection, job: dict[str, Any], event: str, now: datetime
    ) -> None:
        await saved_pages.forget(connection, job["key"])
        await self._planner.tell(connection, job["key"], event, now)
        if job["site"] == "ao3":
            policy = self._planner.policy
            await gates.count_job(
                connection,
                self._ao3.gate.name,
                jobs=round(random.uniform(*policy.pause_jobs)),  # noqa: S311
                pause=random.uniform(*policy.pause_seconds),  # noqa: S311
            )

    async def _must_wait(self, step: FicStepInput, wait: MustWait) -> FicStepResult:
        if wait.code in (FicCode.BLOCKED, FicCode.CHALLENGE):
            log.error("site_keeps_us_away", key=step.key, code=wait.code, seconds=wait.seconds)
        if wait.code not in _PATIENT:
            ended = await self._count(step, fic_code(wait.code, retryable=True), wait.message, wait.seconds)
            if ended is not None:
                return FicStepResult(plan=await self._plan(step.key, step.now))
        async with transaction(self._engine) as connection:
            code = None if wait.code == "gate_wait" else fic_code(wait.code, retryable=True)
            await jobs.waits_for(connection, step.key, step.round, wait.message, code)
        return FicStepResult(wait_seconds=wait.seconds, why=wait.message)

    @activity.defn
    async def record_fic_failure(self, failure: FicFailureInput) -> FicPlan:
        """Plan another attempt, or end the job."""
        error = failure.error
        step = FicStepInput(key=failure.key, round=failure.round, now=failure.now)
        if error.error_code in NOT_ITS_FAULT and not await self._is_lost_again(step, error):
            await self._after_our_fault(step, error.error_code)
        else:
            code = fic_code(error.error_code, retryable=error.retryable)
            await self._count(step, code, error.message, None, final=not error.retryable)
        return await self._plan(failure.key, failure.now)

    async def _is_lost_again(self, step: FicStepInput, error: ErrorRecord) -> bool:
        """True if the worker ended too often while it read this fic: then the loss counts as an attempt."""
        if error.error_code != WORKER_LOST:
            return False
        async with transaction(self._engine) as connection:
            losses = await jobs.count_loss(connection, step.key, step.round)
        return losses > LOSSES_UNTIL_FAILURE

    async def _after_our_fault(self, step: FicStepInput, code: str) -> None:
        """Does not count as an attempt: the fic is tried again until it expires."""
        until = step.now + timedelta(seconds=self._planner.policy.retry_seconds)
        async with transaction(self._engine) as connection:
            await jobs.put_off(connection, step.key, step.round, until, f"{code}, before another try")

    async def _count(
        self, step: FicStepInput, code: str, message: str, seconds: float | None, *, final: bool = False
    ) -> JobState | None:
        """Count an attempt. Returns the job's state if that was its last one; another job may be next now."""
        ended = None
        async with transaction(self._engine) as connection:
            job = await jobs.find(connection, step.key, lock=True)
            if job is None:
                return None
            attempts = await jobs.count_attempt(connection, step.key, step.round, code=code, error=message)
            if attempts is not None and not final and attempts < self._planner.policy.attempts:
                await self._put_off(connection, step, attempts, code, seconds)
            elif attempts is not None:
                ended = JobState.ERROR
                await jobs.finish(
                    connection, step.key, step.round, ended, now=step.now, error_code=code, error=message
                )
                await self._ended(connection, job, "failed", step.now)
        if ended is not None:
            self._metrics.count_fic(job["site"], code)
        await call_next(self._engine, self._client, job["site"])
        return ended

    async def _put_off(
        self, connection: AsyncConnection, step: FicStepInput, attempts: int, code: str, seconds: float | None
    ) -> None:
        policy = self._planner.policy
        wait = backoff_seconds(attempts, policy.retry_seconds, random.uniform(-1, 1))  # noqa: S311
        until = step.now + timedelta(seconds=max(wait, seconds or 0.0))
        why = f"attempt {attempts} of {policy.attempts} failed ({code}), before the next"
        await jobs.put_off(connection, step.key, step.round, until, why)

    async def _plan(self, key: str, now: datetime) -> FicPlan:
        return await self._planner.plan(FicPlanInput(key=key, now=now))


async def _is_to_be_read_again(connection: AsyncConnection, job: dict[str, Any], enlist: EnlistInput) -> bool:
    """A failed fic is tried again when somebody asks; a finished one only with a refresh or a new page."""
    if job["state"] == JobState.ERROR or any(asked.refresh for asked in enlist.subscriptions):
        return True
    return await saved_pages.has_given(connection, job["key"])
