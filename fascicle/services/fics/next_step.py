"""The next step of a fic: its row decides the step, its workflow only waits for the time (F2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fascicle.domain.fics.fic import FINISHED, FicView, JobState
from fascicle.domain.fics.fic_plan import FicPlan, FicPlanInput, FicStep
from fascicle.domain.fics.fic_queue import eta_seconds
from fascicle.domain.fics.fic_words import describe, duration, headline, site_name
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job as jobs
from fascicle.storage.fics import fic_notice as notices
from fascicle.storage.fics import fic_page as saved_pages
from fascicle.storage.fics.fic_view import view
from fascicle.storage.notifications import discord as replies
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.operations import gate as gates

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

# A job that ends notifies the next one; this limit is for a lost notification.
_LONGEST_TURN_WAIT = 3600.0
_SHORTEST_WAIT = 0.2


@dataclass(frozen=True)
class FicPolicy:
    attempts: int
    retry_seconds: float
    expires_after: timedelta
    tell_start: bool
    distances: Mapping[str, float]
    """The usual seconds between two requests, by site; `""` for all others."""
    floors: Mapping[str, float]
    """The shortest time between two requests, by site; `""` for all others."""
    pause_jobs: tuple[float, float]
    pause_seconds: tuple[float, float]

    def distance(self, site: str) -> float:
        return self.distances.get(site, self.distances[""])

    def pace(self, site: str) -> str:
        """The reason why a queue is slow, for people."""
        floor = self.floors.get(site, self.floors[""])
        name = site_name(site)
        return f"{name} is asked at most once in {duration(floor)}" if floor >= 1 else f"its turn at {name}"


def fic_policy(settings: Settings) -> FicPolicy:
    return FicPolicy(
        attempts=settings.fic_attempts,
        retry_seconds=settings.fic_retry_seconds,
        expires_after=timedelta(hours=settings.fic_expire_hours),
        tell_start=settings.fic_tell_start,
        distances={
            "ao3": settings.ao3_gate.usual_distance,
            "": settings.fic_gate.usual_distance,
        },
        floors={"ao3": settings.ao3_gate.floor, "": settings.fic_gate.floor},
        pause_jobs=(settings.ao3_pause_jobs[0], settings.ao3_pause_jobs[1]),
        pause_seconds=(settings.ao3_pause_seconds[0], settings.ao3_pause_seconds[1]),
    )


class FicPlanner:
    def __init__(self, engine: "AsyncEngine", policy: FicPolicy) -> None:
        self._engine = engine
        self.policy = policy

    async def plan(self, wanted: FicPlanInput) -> FicPlan:
        async with transaction(self._engine) as connection:
            job = await jobs.find(connection, wanted.key, lock=True)
            if (
                job is not None
                and job["state"] not in FINISHED
                and self._expired(job, wanted.now)
                and not await gates.is_paused(connection, job["site"])
            ):
                await self._give_up(connection, job, wanted.now)
                job = await jobs.find(connection, wanted.key)
            telling = await self._telling(connection, job, wanted)
            if telling is not None and telling <= 0:
                return self._plan(job, FicStep.TELL, wanted)
            if job is None or job["state"] in FINISHED:
                return self._after_the_end(job, telling, wanted)
            return await self._next(connection, job, telling, wanted.now)

    def _after_the_end(
        self, job: dict[str, Any] | None, telling: float | None, wanted: FicPlanInput
    ) -> FicPlan:
        if telling is None:
            return self._plan(job, FicStep.OVER, wanted)
        why = "until the next message is due"
        return self._plan(job, FicStep.WAIT, wanted, wait_seconds=telling, why=why)

    async def _next(
        self, connection: "AsyncConnection", job: dict[str, Any], telling: float | None, now: datetime
    ) -> FicPlan:
        wanted = FicPlanInput(key=job["key"], now=now)
        if await saved_pages.has_given(connection, job["key"]):
            return await self._begin(connection, job, wanted)
        waits = (job["not_before"] - now).total_seconds() if job["not_before"] else 0.0
        turn = await jobs.turn(connection, job, job["site"], now)
        position = turn.ahead + 1
        eta = eta_seconds(position, max(waits, turn.gate_wait), self.policy.distance(job["site"]))
        if waits > 0:
            wait, why = waits, job["waiting_for"] or "before another attempt"
        elif turn.ahead:
            wait, why = min(_LONGEST_TURN_WAIT, max(1.0, eta)), self.policy.pace(job["site"])
        elif turn.gate_wait > _SHORTEST_WAIT:
            wait, why = turn.gate_wait, turn.gate_reason or self.policy.pace(job["site"])
        else:
            return await self._begin(connection, job, wanted)
        await jobs.waits_for(connection, job["key"], job["round"], why, job["error_code"])
        if telling is not None:
            wait = min(wait, telling)
        return self._plan(
            job, FicStep.WAIT, wanted, wait_seconds=wait, why=why, position=position, eta_seconds=eta
        )

    async def _begin(
        self, connection: "AsyncConnection", job: dict[str, Any], wanted: FicPlanInput
    ) -> FicPlan:
        began = await jobs.begin(connection, job["key"], job["round"], wanted.now)
        if began and self.policy.tell_start:
            await self.tell(connection, job["key"], "start", wanted.now)
            return self._plan(job, FicStep.TELL, wanted)  # at once: the message about the end may follow soon
        return self._plan(job, FicStep.FETCH, wanted)

    async def tell(self, connection: "AsyncConnection", key: str, event: str, now: datetime) -> None:
        """Owe a message about the job's present state to everyone who waits."""
        shown = await self.view(connection, key)
        if shown is not None:
            await notices.notify(
                connection,
                key,
                shown.round,
                event,
                title=headline(shown),
                body=f"{describe(shown)}\n{shown.url}",
                now=now,
            )

    async def view(self, connection: "AsyncConnection", key: str) -> FicView | None:
        return await view(connection, key, self.policy.distances)

    def _expired(self, job: dict[str, Any], now: datetime) -> bool:
        """The time counts from the job's turn, so that a long queue expires no job."""
        return job["started_at"] is not None and bool(job["started_at"] + self.policy.expires_after < now)

    async def _give_up(self, connection: "AsyncConnection", job: dict[str, Any], now: datetime) -> None:
        tried_for = duration(self.policy.expires_after.total_seconds())
        why = f" ({job['waiting_for']})" if job["waiting_for"] else ""
        await jobs.finish(
            connection,
            job["key"],
            job["round"],
            JobState.ERROR,
            now=now,
            error_code=job["error_code"] or "expired",
            error=job["error"] or f"Given up: it was not read within {tried_for}{why}.",
        )
        await saved_pages.forget(connection, job["key"])
        await self.tell(connection, job["key"], "failed", now)

    async def _telling(
        self, connection: "AsyncConnection", job: dict[str, Any] | None, wanted: FicPlanInput
    ) -> float | None:
        """Seconds until the next message or reply is due; None: there is none."""
        due = [await notifications.unsettled_at(connection, wanted.key)]
        if job is None or job["state"] in FINISHED:
            due.append(await replies.next_attempt_at(connection, wanted.key))
        times = [at for at in due if at is not None]
        return (min(times) - wanted.now).total_seconds() if times else None

    def _plan(self, job: dict[str, Any] | None, step: FicStep, wanted: FicPlanInput, **more: Any) -> FicPlan:
        if job is None:
            return FicPlan(step=step, key=wanted.key, state="cleared", **more)
        return FicPlan(
            step=step,
            key=job["key"],
            round=job["round"],
            state=job["state"],
            **more,
        )
