"""Notifying the followers of a chapter: one row each, then a message through each of their channels (C8).

A message cannot be taken back, so the intent is committed before it leaves. If the sender dies in between,
the outcome is unknown: such a delivery is never repeated, but left as `unconfirmed` for a person.
"""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import ErrorRecord, PermanentError
from fascicle.services.notifications.discord_channel import is_discord_channel, post_to_channel
from fascicle.services.notifications.message import Message, closing_link
from fascicle.services.notifications.notifier import Notifier, Sent
from fascicle.services.notifications.wording import chapter_message, digest_message
from fascicle.sites.discord import Discord
from fascicle.storage.database import statement, transaction
from fascicle.storage.notifications import digest as digests
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.notifications.digest import DigestLine
from fascicle.storage.notifications.notification import (
    FOLLOWERS_PER_PAGE,
    SENDING_TAKES,
    About,
    Delivery,
    FanOutPage,
)
from fascicle.storage.operations import dead_letter
from fascicle.storage.operations.vault import Vault
from fascicle.temporal.metrics import NOTIFICATION_OUTCOMES, Metrics

_DELIVERIES_PER_ROUND = 200
_DIGESTS_PER_PAGE = 500
_ATTEMPTS = 5


class AnnounceInput(BaseModel):
    chapter_id: int
    now: datetime


class AnnounceResult(BaseModel):
    followers: int = 0
    told: int = 0
    deliveries: int = 0

    def add(self, page: FanOutPage) -> None:
        self.followers += page.followers
        self.told += page.told
        self.deliveries += page.queued


class DeliverInput(BaseModel):
    chapter_id: int | None = None
    job_key: str | None = None
    """Without `chapter_id` and `job_key`: all digests."""
    now: datetime
    shared: bool = False
    """Another workflow may be sending messages about the same chapter or job now."""

    @property
    def about(self) -> About:
        return self.chapter_id if self.job_key is None else self.job_key


class ComposeInput(BaseModel):
    now: datetime


class ComposeResult(BaseModel):
    digests: int = 0
    pending: bool = True
    """There are digests to send, of this run or of an earlier one."""


class DeliverResult(BaseModel):
    sent: int = 0
    failed: int = 0
    unconfirmed: int = 0
    next_attempt_seconds: float | None = None
    """When the next round is due; None: every delivery is settled."""


Clock = Callable[[], datetime]


def _running_clock(start: datetime) -> Clock:
    """A clock that starts at the workflow's time and runs during the activity: tests may skip time."""
    began = time.monotonic()
    return lambda: start + timedelta(seconds=time.monotonic() - began)


class NotifyActivities:
    def __init__(
        self,
        engine: AsyncEngine,
        notifier: Notifier,
        discord: Discord,
        vault: Vault,
        metrics: Metrics,
        *,
        retry_base_seconds: float,
        daily_cap: int,
    ) -> None:
        self._engine = engine
        self._notifier = notifier
        self._discord = discord
        self._vault = vault
        self._metrics = metrics
        self._retry_base = retry_base_seconds
        self._daily_cap = daily_cap

    @activity.defn
    async def announce_chapter(self, announce: AnnounceInput) -> AnnounceResult:
        """One row per follower, in pages; then the chapter is no longer owed."""
        result, settled = AnnounceResult(), False
        async with heartbeating():
            while not settled:
                async with transaction(self._engine) as connection:
                    owed_round = await notifications.owed_round(connection, announce.chapter_id)
                told = await self._make_rows(announce)
                result.followers = told.followers
                result.told += told.told
                result.deliveries += told.deliveries
                settled = await self._mark_announced(announce, owed_round)
        self._metrics.count_notifications("created", result.told)
        return result

    async def _make_rows(self, announce: AnnounceInput) -> AnnounceResult:
        result, after = AnnounceResult(), ""
        while True:
            async with transaction(self._engine) as connection:
                page = await notifications.fan_out(
                    connection,
                    announce.chapter_id,
                    after=after,
                    limit=FOLLOWERS_PER_PAGE,
                    cap=self._daily_cap,
                    now=announce.now,
                )
            result.add(page)
            if page.followers < FOLLOWERS_PER_PAGE or page.last_user is None:
                return result
            after = page.last_user

    async def _mark_announced(self, announce: AnnounceInput, owed_round: int) -> bool:
        """False: meanwhile the chapter became owed again, also to people whose page is done already."""
        async with transaction(self._engine) as connection:
            series_id = await notifications.series_of(connection, announce.chapter_id)
            marked = await notifications.mark_announced(
                connection, announce.chapter_id, owed_round, announce.now
            )
            if marked:
                job_key = f"{series_id}:{announce.chapter_id}"
                await dead_letter.resolve(connection, "notify", job_key, announce.now)
        return marked or series_id is None

    @activity.defn
    async def compose_digests(self, compose: ComposeInput) -> ComposeResult:
        """Write one digest for each person whose digest is due and who has something to read."""
        result = ComposeResult()
        async with heartbeating():
            while True:
                async with transaction(self._engine) as connection:
                    people, made = await digests.compose(connection, compose.now, limit=_DIGESTS_PER_PAGE)
                result.digests += made
                if people < _DIGESTS_PER_PAGE:
                    break
            async with transaction(self._engine) as connection:
                result.pending = await digests.any_unfinished(connection)
        self._metrics.count_notifications("digest", result.digests)
        return result

    @activity.defn
    async def deliver_due(self, deliver: DeliverInput) -> DeliverResult:
        """Send the due deliveries of a chapter, of a job, or of all digests, up to the limit of one round."""
        clock = _running_clock(deliver.now)
        async with heartbeating():
            async with transaction(self._engine) as connection:
                doubtful = await self._doubt_interrupted(connection, deliver)
                due = await notifications.due(
                    connection, deliver.about, now=clock(), limit=_DELIVERIES_PER_ROUND
                )
                messages = await _messages(connection, due)
            outcomes = await self._send_all(deliver, messages, clock)
            next_round = await self._next_round(deliver.about, clock)
        outcomes += ["unconfirmed"] * doubtful
        for outcome in set(outcomes) & set(NOTIFICATION_OUTCOMES):
            self._metrics.count_notifications(outcome, outcomes.count(outcome))
        return DeliverResult(
            sent=outcomes.count("sent"),
            failed=outcomes.count("failed"),
            unconfirmed=outcomes.count("unconfirmed"),
            next_attempt_seconds=next_round,
        )

    async def _doubt_interrupted(self, connection: AsyncConnection, deliver: DeliverInput) -> int:
        # In a retry, the previous attempt has ended, so its unsettled deliveries were interrupted.
        is_alone = not deliver.shared or activity.info().attempt > 1
        doubtful = await notifications.doubt_interrupted(
            connection, deliver.about, began_before=None if is_alone else deliver.now - SENDING_TAKES
        )
        for delivery_id in doubtful:
            await _bury(connection, deliver, delivery_id, _unconfirmed("the sender died"), attempts=1)
        return len(doubtful)

    async def _send_all(
        self, deliver: DeliverInput, messages: list[tuple[Delivery, Message]], clock: Clock
    ) -> list[str]:
        sending = [self._send(deliver, delivery, message, clock) for delivery, message in messages]
        # Wait for all, even if one fails: a retry would mark those that still run as interrupted.
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [str(outcome) for outcome in outcomes]

    async def _send(self, deliver: DeliverInput, delivery: Delivery, message: Message, clock: Clock) -> str:
        async with self._notifier.slots:
            # On shutdown send nothing new; pending messages stay for the next worker.
            if activity.is_worker_shutdown():
                return "left"
            # A transaction, not an autocommit statement: a worker that dies before the COMMIT claims nothing.
            async with transaction(self._engine) as connection:
                if not await notifications.claim(connection, delivery.id, clock()):
                    return "taken"
            sent = await self._hand_over(delivery, message)
        state = _state_after(sent, delivery.attempts + 1)
        if state == "sent":
            async with statement(self._engine) as connection:
                await notifications.settle_sent(connection, delivery.id, clock())
        else:
            await self._settle_unsent(deliver, delivery, sent, state, clock())
        return "retried" if state == "pending" else state

    async def _hand_over(self, delivery: Delivery, message: Message) -> Sent:
        try:
            url = await delivery.address.opened(self._vault)
        except PermanentError as error:  # retried a few times: the key may be put back meanwhile
            return Sent(False, error=error.message)
        if is_discord_channel(url):
            return await post_to_channel(self._discord, url, message, nonce=f"delivery-{delivery.id}")
        return await self._notifier.send(url, message)

    async def _settle_unsent(
        self, deliver: DeliverInput, delivery: Delivery, sent: Sent, state: str, now: datetime
    ) -> None:
        attempts = delivery.attempts + 1
        wait = backoff_seconds(attempts, self._retry_base, random.uniform(-1, 1))  # noqa: S311
        async with transaction(self._engine) as connection:
            await notifications.settle_unsent(
                connection,
                delivery.id,
                state,
                error=sent.error,
                next_attempt_at=now + timedelta(seconds=wait),
            )
            if state != "pending":
                error = _refused(sent) if state == "failed" else _unconfirmed(sent.error or "")
                await _bury(connection, deliver, delivery.id, error, attempts=attempts)

    async def _next_round(self, about: About, clock: Clock) -> float | None:
        async with statement(self._engine) as connection:
            at = await notifications.next_attempt_at(connection, about, now := clock())
        return None if at is None else max(0.0, (at - now).total_seconds())


async def _messages(connection: AsyncConnection, due: list[Delivery]) -> list[tuple[Delivery, Message]]:
    ids = {delivery.digest_id for delivery in due if delivery.digest_id is not None}
    lines: dict[int, list[DigestLine]] = {digest_id: [] for digest_id in ids}
    if ids:
        for line in await digests.lines(connection, ids):
            lines[line.digest_id].append(line)
    return [(d, _message(d, lines)) for d in due]


def _message(delivery: Delivery, lines: dict[int, list[DigestLine]]) -> Message:
    if delivery.body is not None:
        links = closing_link(delivery.body)
        return Message(title=delivery.title or "", body=delivery.body, links=links)
    if delivery.digest_id is not None:
        return digest_message(lines[delivery.digest_id])
    return chapter_message(delivery)


def _state_after(sent: Sent, attempts: int) -> str:
    if sent.ok:
        return "sent"
    if not sent.certain:
        return "unconfirmed"
    return "failed" if attempts >= _ATTEMPTS else "pending"


def _refused(sent: Sent) -> ErrorRecord:
    return _error("delivery_failed", sent.error or "the service refused the message")


def _unconfirmed(why: str) -> ErrorRecord:
    return _error("delivery_unconfirmed", f"The message may or may not have arrived: {why}")


def _error(code: str, message: str) -> ErrorRecord:
    return ErrorRecord(error_type="DeliveryError", error_code=code, message=message, retryable=False)


async def _bury(
    connection: AsyncConnection, deliver: DeliverInput, delivery_id: int, error: ErrorRecord, *, attempts: int
) -> None:
    await dead_letter.bury(
        connection,
        kind="deliver",
        job_key=str(delivery_id),
        workflow_id=activity.info().workflow_id or "",
        job_input={
            "chapter_id": deliver.chapter_id,
            "job_key": deliver.job_key,
            "delivery_id": delivery_id,
        },
        error=error,
        attempts=attempts,
        now=deliver.now,
    )
