"""Burying what failed for good (C11)."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from fascicle.domain.errors import ErrorRecord
from fascicle.storage import dead_letter
from fascicle.storage.database import transaction


class BuryInput(BaseModel):
    kind: str
    job_key: str
    job_input: dict[str, Any]
    error: ErrorRecord
    attempts: int
    now: datetime


class DeadLetterActivities:
    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

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
