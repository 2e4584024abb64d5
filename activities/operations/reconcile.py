"""Finding work without a workflow: the workflow failed, was ended, or was never started (X1)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeat import heartbeating
from fascicle.domain.fics.fic import FicRef
from fascicle.domain.names import WAKE_SIGNAL, source_workflow_id
from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Cadence
from fascicle.jobs.feeds import enrich_input, enrich_job
from fascicle.jobs.fics import parse_fic_job
from fascicle.jobs.publishing import post_job
from fascicle.jobs.summaries import request_input, request_job
from fascicle.process.logs import get_logger
from fascicle.storage.database import transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.feeds import feed as feeds
from fascicle.storage.fics import fic_job
from fascicle.storage.notifications import mail
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.operations import restored
from fascicle.storage.publishing import post_queue
from fascicle.storage.series import sweep as sweeps
from fascicle.storage.summaries import request as requests
from fascicle.temporal.workflow_start import start_if_absent, start_job

_CHAPTERS_AT_ONCE = 100
_POSTS_PER_PAGE = 200
_POSTS_AT_ONCE = 10
# The most in one run; the next run takes the rest.
_MOST_POSTS = 5000
_FROM_THE_FIRST: tuple[datetime | None, str] = (None, "")
# The workflow of a later post is signalled; usually the post only waits for its turn, and nothing changes.
_POST_IS_LATE = timedelta(minutes=1)
_FIC_IS_LATE = timedelta(minutes=1)
_MOST_FICS = 500
# Enrichment has time; its workflow is usually just waiting for a worker.
_ITEM_IS_LATE = timedelta(minutes=5)
_MOST_ITEMS = 100
_REQUEST_IS_LATE = timedelta(minutes=1)
_MOST_REQUESTS = 100
# Longer than a gate delays a poll without reporting a wait.
_FEED_IS_LATE = timedelta(minutes=3)
_MOST_FEEDS = 100
_MOST_READ_ANEW = 100
_READ_ANEW_WITHIN_SECONDS = 60.0

log = get_logger("fascicle.reconcile")


class ReconcileInput(BaseModel):
    now: datetime


class OwedChapter(BaseModel):
    series_id: str
    chapter_id: int


class NeglectedFeed(BaseModel):
    id: str
    title: str
    cadence: Cadence
    circuit: Circuit
    failure_count: int
    next_check_at: datetime | None
    rests: bool


class Orphans(BaseModel):
    chapters: list[OwedChapter] = []
    """Owed to followers, or with pending messages, for longer than notifying takes."""
    stale_sweeps: list[str] = []
    """Sites whose sources rely on a sweep that has not worked for too long."""
    posts: int = 0
    """Posts whose workflow was started or signalled."""
    fics: int = 0
    """Fics that were late."""
    items: int = 0
    """Items whose enrichment had no workflow."""
    requests: int = 0
    """Requests that were late."""
    mail_waits: bool = False
    feeds: list[NeglectedFeed] = []
    """Feeds that are overdue, or paused although somebody reads them, because a process died too early."""


class ReconcileActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        client: Client,
        *,
        told_within: timedelta,
        sweep_is_fresh_for: timedelta,
        enrich: bool = True,
        requests_at_once: int = 5,
    ) -> None:
        self._engine = engine
        self._client = client
        self._told_within = told_within
        self._sweep_is_fresh_for = sweep_is_fresh_for
        self._enrich = enrich
        self._requests_at_once = requests_at_once

    @activity.defn
    async def find_orphans(self, reconcile: ReconcileInput) -> Orphans:
        async with heartbeating():
            async with transaction(self._engine) as connection:
                chapters = await notifications.unfinished(
                    connection, before=reconcile.now - self._told_within, limit=_CHAPTERS_AT_ONCE
                )
                stale = await sweeps.stale(connection, reconcile.now - self._sweep_is_fresh_for)
                mail_waits = await mail.needs_a_sender(connection)
                neglected = await feeds.neglected(
                    connection, before=reconcile.now - _FEED_IS_LATE, limit=_MOST_FEEDS
                )
            posts = await self._see_to_overdue(reconcile.now) + await self._see_to_unplanned()
            fics = await self._see_to_fics(reconcile.now)
            items = await self._see_to_items(reconcile.now) if self._enrich else 0
            asked = await self._see_to_requests(reconcile.now)
            await self._wake_those_to_read_anew()
        return Orphans(
            chapters=[OwedChapter(series_id=s, chapter_id=c) for s, c in chapters],
            stale_sweeps=stale,
            posts=posts,
            fics=fics,
            items=items,
            requests=asked,
            mail_waits=mail_waits,
            feeds=[NeglectedFeed.model_validate(row) for row in neglected],
        )

    async def _see_to_overdue(self, now: datetime) -> int:
        """Posts that are overdue (P9)."""
        async with transaction(self._engine) as connection:
            overdue = await post_queue.overdue(
                connection, before=now - _POST_IS_LATE, now=now, limit=_POSTS_PER_PAGE
            )
        return await self._see_to(overdue)

    async def _see_to_unplanned(self) -> int:
        """Posts that another program scheduled or moved (P9); they stay listed until their workflow runs."""
        seen_to, seen, last = 0, 0, _FROM_THE_FIRST
        while seen < _MOST_POSTS:
            async with transaction(self._engine) as connection:
                page = await post_queue.unplanned(connection, after=last, limit=_POSTS_PER_PAGE)
            if not page:
                break
            last = page[-1]["publish_at"], page[-1]["id"]
            seen += len(page)
            seen_to += await self._see_to(page)
        return seen_to

    async def _see_to_fics(self, now: datetime) -> int:
        """Fics that should have moved by now."""
        async with transaction(self._engine) as connection:
            neglected = await fic_job.neglected(connection, now - _FIC_IS_LATE, _MOST_FICS)
        for row in neglected:
            try:
                await start_job(self._client, parse_fic_job(FicRef.model_validate(row)))
            except RPCError as error:
                log.warning("fic_not_seen_to", key=row["key"], error=str(error))
        return len(neglected)

    async def _see_to_requests(self, now: datetime) -> int:
        """Requests that should have moved by now; if one is only slow, the signal changes nothing."""
        async with transaction(self._engine) as connection:
            neglected = await requests.neglected(
                connection, now - _REQUEST_IS_LATE, most=self._requests_at_once, limit=_MOST_REQUESTS
            )
        for row in neglected:
            try:
                await start_job(self._client, request_job(request_input(row)))
            except RPCError as error:
                log.warning("request_not_seen_to", request_id=row["id"], error=str(error))
        return len(neglected)

    async def _wake_those_to_read_anew(self) -> None:
        """Wake the sources of a restored database: their workflows do not know of the restore."""
        async with transaction(self._engine) as connection:
            sources = await restored.to_read_anew(connection, _MOST_READ_ANEW)
        for source_id in sources:
            handle = self._client.get_workflow_handle(source_workflow_id(source_id))
            try:
                await handle.signal(WAKE_SIGNAL, _READ_ANEW_WITHIN_SECONDS if len(sources) > 1 else 1.0)
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:  # not found: a workflow polls when it starts
                    log.warning("source_not_woken", source_id=source_id, error=str(error))
                    continue
            async with transaction(self._engine) as connection:
                await restored.told_to_read_anew(connection, source_id)

    async def _see_to_items(self, now: datetime) -> int:
        """Items that are due without a workflow (I5)."""
        async with transaction(self._engine) as connection:
            neglected = await enrichment.take_neglected(
                connection, before=now - _ITEM_IS_LATE, now=now, limit=_MOST_ITEMS
            )
        started = 0
        for row in neglected:
            try:
                started += await start_if_absent(self._client, enrich_job(enrich_input(row)))
            except RPCError as error:
                log.warning("item_not_seen_to", item_id=row["id"], error=str(error))
        return started

    async def _see_to(self, posts: Sequence[dict[str, Any]]) -> int:
        """Start or signal the posts' workflows; returns how many Temporal accepted."""
        done = 0
        for start in range(0, len(posts), _POSTS_AT_ONCE):
            done += sum(await asyncio.gather(*map(self._look_after, posts[start : start + _POSTS_AT_ONCE])))
        return done

    async def _look_after(self, post: dict[str, Any]) -> bool:
        try:
            await start_job(
                self._client, post_job(post["id"], title=post["title"], account_id=post["account_id"])
            )
        except RPCError as error:
            # One failure must not stop the others; the next run tries again.
            log.warning("post_not_seen_to", post_id=post["id"], error=str(error))
            return False
        return True
