"""The stages of a request (R2, R3). Each first checks whether its result is stored, and commits it when done:
after a crash, finished work is not done, or paid for, again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError

from activities.heartbeat import heartbeating
from activities.series.source import Wait
from fascicle.domain.errors import ErrorRecord, FascicleError, MustWait, PermanentError
from fascicle.domain.feeds.item_words import count_words, reading_minutes
from fascicle.domain.names import request_workflow_id
from fascicle.domain.summaries.article import Article
from fascicle.domain.summaries.request import OPEN, OUR_FAULTS, PROGRESS, RequestStatus, Stage
from fascicle.domain.summaries.request_rule import RetryRule
from fascicle.domain.summaries.summary import BrokenContract, Method, Summary, checked_draft, label_of
from fascicle.domain.urls import address_title
from fascicle.jobs.summaries import request_input, request_job
from fascicle.process.logs import get_logger
from fascicle.services.summaries.draft import CORRECTION, SUMMARY, Summarizer, Writing
from fascicle.sites.articles import Articles
from fascicle.storage.database import transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.summaries import request as requests
from fascicle.storage.summaries import request_work as works
from fascicle.temporal.metrics import Metrics
from fascicle.temporal.workflow_start import start_job

# A request that must wait longer than this frees its slot.
_SHORT_WAIT = 10.0
# A request that ends signals the next one; these intervals are for a lost signal.
_LOOK_AGAIN_SECONDS = 30.0
_PER_PLACE_SECONDS = 2.0
_LONGEST_LOOK = 600.0

log = get_logger("fascicle.request")


class RequestInput(BaseModel):
    request_id: str
    correlation_id: str
    now: datetime
    round: int | None = None
    """Set once the request has begun: a worker of an earlier round must not end the present one."""


class StageInput(RequestInput):
    stage: Stage
    attempt: int = 1


class Begun(BaseModel):
    """Whether the request may start, or how long to wait; and how often its stages are tried."""

    status: str = RequestStatus.PENDING
    granted: bool = False
    round: int = 1
    wait_seconds: float = 0
    why: str = ""
    attempts: int = 3


class StageWait(Wait):
    code: str
    stepped_back: bool = False
    """It has freed its slot meanwhile."""


class StageResult(BaseModel):
    gone: str | None = None
    """The request's status, if it is cancelled or over."""
    wait: StageWait | None = None
    again: bool = False
    """From validation: the draft must be corrected."""
    owed: bool = False
    """From the last stage: there are messages to send."""
    steps: int = 0
    """The number of stored answers of models."""


class _Stopped(Exception):
    """The request is not running any more: skip the rest."""


class RequestFailure(RequestInput):
    error: ErrorRecord


@dataclass(frozen=True)
class RequestPolicy:
    concurrency: int
    retry: RetryRule


class RequestActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        client: Client,
        articles: Articles,
        summarizer: Summarizer,
        policy: RequestPolicy,
        metrics: Metrics,
        clock: Callable[[], datetime],
    ) -> None:
        self._engine = engine
        self._client = client
        self._articles = articles
        self._summarizer = summarizer
        self._policy = policy
        self._metrics = metrics
        self._clock = clock

    @activity.defn
    async def begin_request(self, begin: RequestInput) -> Begun:
        """Claim a slot, or return how long to wait in the queue."""
        most = self._policy.concurrency
        async with transaction(self._engine) as connection:
            row = await requests.find(connection, begin.request_id)
            if row is None or row["status"] not in OPEN:
                return Begun(status=row["status"] if row else RequestStatus.CANCELLED)
            found = Begun(round=row["round"], attempts=self._policy.retry.attempts)
            if await requests.claim(connection, begin.request_id, most=most, now=begin.now):
                return found.model_copy(update={"granted": True, "status": RequestStatus.RUNNING})
            if row["not_before"] is not None and row["not_before"] > begin.now:
                rest = (row["not_before"] - begin.now).total_seconds()
                return found.model_copy(update={"wait_seconds": rest, "why": row["waiting_for"] or ""})
            place = await requests.place_in_line(connection, begin.request_id)
            why = f"number {place} in line: {most} requests at once (FASCICLE_REQUEST_CONCURRENCY)"
            await requests.waits_for(connection, begin.request_id, why)
        wait = min(_LONGEST_LOOK, _LOOK_AGAIN_SECONDS + _PER_PLACE_SECONDS * place)
        return found.model_copy(update={"wait_seconds": wait, "why": why})

    @activity.defn
    async def extract_article(self, step: StageInput) -> StageResult:
        async def extract(row: dict[str, Any]) -> StageResult:
            async with transaction(self._engine) as connection:
                if await works.has_article(connection, row["id"]):
                    return StageResult()
            article = await self._articles.extract(row["url"])
            async with transaction(self._engine) as connection:
                await works.keep_article(connection, row["id"], article)
            return StageResult()

        return await self._in_stage(step, extract)

    @activity.defn
    async def summarize_article(self, step: StageInput) -> StageResult:
        async def summarize(row: dict[str, Any]) -> StageResult:
            async with transaction(self._engine) as connection:
                article = await _article(connection, row)

            async def on_part(done: int, parts: int) -> None:
                first, last = PROGRESS[Stage.SUMMARIZING], PROGRESS[Stage.VALIDATING]
                async with transaction(self._engine) as connection:
                    reached = first + (last - first) * done // (parts + 1)
                    if not await requests.enter(connection, row["id"], step.stage, self._clock(), reached):
                        raise _Stopped

            await self._summarizer.write(Writing(row["id"], article, row["problems"], on_part))
            return StageResult()

        return await self._in_stage(step, summarize)

    @activity.defn
    async def validate_summary(self, step: StageInput) -> StageResult:
        """Check the draft against the contract. A draft that breaks it is corrected once."""

        async def validate(row: dict[str, Any]) -> StageResult:
            async with transaction(self._engine) as connection:
                answers = await works.answers(connection, row["id"])
                draft = answers.get(CORRECTION) or answers[SUMMARY]
                try:
                    summary = await self._checked(connection, row, draft)
                except BrokenContract as broken:
                    if CORRECTION in answers:
                        raise PermanentError(
                            "contract_broken",
                            f"The summary breaks its contract, also after a correction: {broken}"[:900],
                        ) from broken
                    await requests.keep_verdict(
                        connection, row["id"], problems=broken.problems, validated=None
                    )
                    return StageResult(again=True)
                await requests.keep_verdict(
                    connection, row["id"], problems=[], validated=summary.model_dump(mode="json")
                )
            return StageResult()

        return await self._in_stage(step, validate)

    @activity.defn
    async def persist_summary(self, step: StageInput) -> StageResult:
        """Store the summary, the request's end and the messages to subscribers in one transaction."""

        async def persist(row: dict[str, Any]) -> StageResult:
            async with transaction(self._engine) as connection:
                current = await requests.find(connection, row["id"], lock=True)
                if current is None or not await requests.finish(
                    connection, row["id"], RequestStatus.SUCCEEDED, now=step.now, round_=step.round
                ):
                    return StageResult(gone=current["status"] if current else RequestStatus.CANCELLED)
                await self._keep_summary(connection, current, step.now)
                owed = await _is_owed(connection, row["id"])
            self._metrics.count_request("succeeded")
            log.info("request_succeeded", request_id=row["id"])
            return StageResult(owed=owed)

        result = await self._in_stage(step, persist)
        await self._call_next(step.now)
        return result

    @activity.defn
    async def record_request_failure(self, failure: RequestFailure) -> StageResult:
        """End the request as failed, with its error record (R5), and owe every subscriber a message."""
        error, now = failure.error, failure.now
        async with transaction(self._engine) as connection:
            row = await requests.find(connection, failure.request_id, lock=True)
            ended = row is not None and await requests.finish(
                connection,
                failure.request_id,
                RequestStatus.FAILED,
                now=now,
                round_=failure.round,
                error=error,
            )
            if row is not None and ended:
                if error.error_code == "contract_broken":
                    await works.reject(connection, failure.request_id, (SUMMARY, CORRECTION))
                await _tell_of_failure(connection, row, error, now)
            owed = await _is_owed(connection, failure.request_id)
        if ended:
            self._metrics.count_request("failed")
            log.error("request_failed", request_id=failure.request_id, error=error.model_dump())
        await self._call_next(now)
        return StageResult(owed=owed)

    @activity.defn
    async def record_request_cancelled(self, cancelled: RequestInput) -> int | None:
        """End that round. Returns the present round if somebody has asked for it again, else None."""
        async with transaction(self._engine) as connection:
            ended = await requests.finish(
                connection,
                cancelled.request_id,
                RequestStatus.CANCELLED,
                now=cancelled.now,
                round_=cancelled.round,
            )
            row = await requests.find(connection, cancelled.request_id)
        if ended:
            self._metrics.count_request("cancelled")
        await self._call_next(cancelled.now)
        return row["round"] if row is not None and row["status"] in OPEN else None

    async def _in_stage(
        self, step: StageInput, work: Callable[[dict[str, Any]], Awaitable[StageResult]]
    ) -> StageResult:
        async with heartbeating():
            async with transaction(self._engine) as connection:
                entered = await requests.enter(connection, step.request_id, step.stage, step.now)
                row = await requests.find(connection, step.request_id)
            if row is None or not entered:
                return self._not_entered(row)
            try:
                return await work(row)
            except _Stopped:
                async with transaction(self._engine) as connection:
                    return self._not_entered(await requests.find(connection, step.request_id))
            except MustWait as wait:
                return await self._must_wait(step, wait)
            except FascicleError as error:
                await self._note(step, error)
                raise

    def _not_entered(self, row: dict[str, Any] | None) -> StageResult:
        """The request is over; or an earlier attempt freed its slot and died before it could report that."""
        if row is None or row["status"] not in OPEN:
            return StageResult(gone=row["status"] if row else RequestStatus.CANCELLED)
        until = row["not_before"] or self._clock()
        return StageResult(
            wait=StageWait(
                seconds=max(0.0, (until - self._clock()).total_seconds()),
                reason=row["waiting_for"] or "its turn",
                refused=False,
                code="gate_wait",
                stepped_back=True,
            )
        )

    async def _must_wait(self, step: StageInput, wait: MustWait) -> StageResult:
        stepped_back = wait.seconds > _SHORT_WAIT
        now = self._clock()
        async with transaction(self._engine) as connection:
            if stepped_back:
                until = now + timedelta(seconds=wait.seconds)
                await requests.step_back(connection, step.request_id, until=until, why=wait.message)
            else:
                await requests.waits_for(connection, step.request_id, wait.message)
            steps = len(await works.answers(connection, step.request_id))
        if stepped_back:
            await self._call_next(now)
        return StageResult(
            steps=steps,
            wait=StageWait(
                seconds=wait.seconds,
                reason=wait.message,
                refused=wait.refused,
                code=wait.code,
                stepped_back=stepped_back,
            ),
        )

    async def _note(self, step: StageInput, error: FascicleError) -> None:
        """Show the error on the row, unless it is a fault on our side."""
        if error.code in OUR_FAULTS:
            return
        record = error.record(stage=step.stage, attempt=step.attempt, correlation_id=step.correlation_id)
        async with transaction(self._engine) as connection:
            await requests.note_failure(connection, step.request_id, record)

    async def _checked(
        self, connection: AsyncConnection, row: dict[str, Any], draft: dict[str, Any]
    ) -> Summary:
        found = checked_draft(draft["content"])
        article = await _article(connection, row)
        # Do not ask a model for values that can be computed.
        known = {"language": article.language or found.language}
        minutes = reading_minutes(count_words(article.text))
        return Summary(**(found.model_dump() | known), reading_time_minutes=minutes)

    async def _keep_summary(self, connection: AsyncConnection, row: dict[str, Any], now: datetime) -> None:
        article = await _article(connection, row)
        answers = await works.answers(connection, row["id"])
        model = (answers.get(CORRECTION) or answers[SUMMARY])["model"]
        method = Method.EXTRACTIVE if model is None else Method.MODEL
        summary = Summary.model_validate(row["validated"])
        await works.keep_summary(
            connection, row, title=article.title, method=method, model=model, summary=summary, now=now
        )
        if row["item_id"] is not None:
            await enrichment.keep_summary(connection, row["item_id"], summary.summary_250, method)
        title = article.title or address_title(row["url"])
        body = f"{summary.summary_250}\n{label_of(method, model)}\n{row['url']}"
        await _tell(connection, row, "done", f"Summary: {title}"[:250], body, now)

    async def _call_next(self, now: datetime) -> None:
        """Signal the workflows of the next requests; without the signal they check later by themselves."""
        async with transaction(self._engine) as connection:
            following = await requests.next_in_line(connection, most=self._policy.concurrency, now=now)
        for row in following:
            try:
                await start_job(self._client, request_job(request_input(row)))
            except RPCError as error:
                # The signal is only a hint: the workflow checks by itself, and so does `reconcile`.
                log.warning("request_not_called", request_id=row["id"], error=str(error))


async def _article(connection: AsyncConnection, row: dict[str, Any]) -> Article:
    article = await works.article(connection, row["id"])
    if article is None:  # deleted by age_out, and the request was retried later
        raise PermanentError("article_missing", "The article is no longer kept: ask with --refresh.")
    return article


async def _tell_of_failure(
    connection: AsyncConnection, row: dict[str, Any], error: ErrorRecord, now: datetime
) -> None:
    title = f"No summary: {address_title(row['url'])}"[:250]
    body = f"{error.error_code}: {error.message}\n{row['url']}"
    await _tell(connection, row, "failed", title, body, now)


async def _tell(
    connection: AsyncConnection, row: dict[str, Any], event: str, title: str, body: str, now: datetime
) -> None:
    key = request_workflow_id(row["id"])
    await requests.notify(connection, row["id"], key, event, title=title, body=body, now=now)


async def _is_owed(connection: AsyncConnection, request_id: str) -> bool:
    """True if messages are still to be sent, written by this attempt or an earlier one."""
    return await notifications.unsettled_at(connection, request_workflow_id(request_id)) is not None
