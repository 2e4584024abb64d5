"""Dead letters: writing, replaying and ageing them out (C11)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from fascicle.domain.errors import ErrorRecord
from fascicle.storage.database import transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.feeds import item as items
from fascicle.storage.feeds import run as runs
from fascicle.storage.fics import fic_job
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.operations import dead_letter
from fascicle.storage.summaries import request as requests

_LETTERS_PER_PAGE = 20


class BuryInput(BaseModel):
    kind: str
    job_key: str
    job_input: dict[str, Any]
    error: ErrorRecord
    attempts: int
    now: datetime


class AgeOutInput(BaseModel):
    now: datetime


class AgeOutResult(BaseModel):
    given_up: int = 0
    """Open letters that nobody settled for too long."""
    forgotten: int = 0
    """Settled letters that were deleted."""
    fics_forgotten: int = 0
    """Jobs that were finished long ago; the data they read stays."""
    runs_forgotten: int = 0
    items_forgotten: int = 0
    """Items of feeds; the record that they were seen stays."""
    requests_forgotten: int = 0
    """Requests that failed or were cancelled; summaries stay."""


@dataclass(frozen=True)
class Retention:
    """How long finished things are kept."""

    letters: timedelta
    fics: timedelta
    runs: timedelta
    idle_runs: timedelta
    documents: timedelta
    items: timedelta
    requests: timedelta


class LettersInput(BaseModel):
    letters: list[int] = []
    code: str | None = None
    kind: str | None = None
    after: int = 0


class Letter(BaseModel):
    id: int
    kind: str
    job_key: str
    job_input: dict[str, Any]
    series_id: str | None = None
    """Set for letters about notifying people of a chapter."""


class LetterPage(BaseModel):
    letters: list[Letter]


class ReopenInput(BaseModel):
    letter_id: int
    now: datetime


class DeadLetterActivities:
    def __init__(self, engine: AsyncEngine, retention: Retention) -> None:
        self._engine = engine
        self._retention = retention

    @activity.defn
    async def list_letters(self, wanted: LettersInput) -> LetterPage:
        """The letters to replay, by number, a page at a time."""
        async with transaction(self._engine) as connection:
            rows = await dead_letter.to_replay(
                connection,
                letters=wanted.letters,
                code=wanted.code,
                kind=wanted.kind,
                after=wanted.after,
                limit=_LETTERS_PER_PAGE,
            )
        return LetterPage(letters=[_letter(row) for row in rows])

    @activity.defn
    async def reopen(self, reopen: ReopenInput) -> None:
        """Settle a letter as replayed; requeue the message or item that it stands for, if any."""
        async with transaction(self._engine) as connection:
            await dead_letter.settle(connection, reopen.letter_id, "replayed", reopen.now)
            letter = await dead_letter.get(connection, reopen.letter_id)
            if letter is not None and letter["kind"] == "deliver":
                await notifications.requeue(connection, letter["input"]["delivery_id"], reopen.now)
            elif letter is not None and letter["kind"] == "enrich":
                await enrichment.try_again(connection, letter["input"]["item_id"], reopen.now)

    @activity.defn
    async def put_back(self, letter: ReopenInput) -> None:
        """Open a letter again that could not be replayed."""
        async with transaction(self._engine) as connection:
            await dead_letter.put_back(connection, letter.letter_id)

    @activity.defn
    async def age_out(self, age_out: AgeOutInput) -> AgeOutResult:
        now, kept = age_out.now, self._retention
        async with transaction(self._engine) as connection:
            given_up = await dead_letter.give_up(connection, before=now - kept.letters, now=now)
            forgotten = await dead_letter.forget(connection, before=now - kept.letters)
            fics = await fic_job.forget_finished(connection, now - kept.fics)
            ran = await runs.age_out(
                connection,
                before=now - kept.runs,
                idle_before=now - kept.idle_runs,
                documents_before=now - kept.documents,
            )
            gone = await items.forget(connection, before=now - kept.items)
            asked = await requests.forget(connection, now - kept.requests)
        return AgeOutResult(
            given_up=given_up,
            forgotten=forgotten,
            fics_forgotten=fics,
            runs_forgotten=ran,
            items_forgotten=gone,
            requests_forgotten=asked,
        )

    @activity.defn
    async def bury(self, letter: BuryInput) -> int:
        async with transaction(self._engine) as connection:
            return await dead_letter.bury(
                connection,
                kind=letter.kind,
                job_key=letter.job_key,
                workflow_id=activity.info().workflow_id or "",
                job_input=letter.job_input,
                error=letter.error,
                attempts=letter.attempts,
                now=letter.now,
            )


def _letter(row: dict[str, Any]) -> Letter:
    """A letter for a workflow: entries of feeds are left out, so that they stay out of its history."""
    letter = Letter.model_validate(row)
    letter.job_input.pop("entry", None)
    return letter
