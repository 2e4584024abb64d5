"""Summary requests from people and programs, and the answers to them (R1, R2)."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.canonical_url import canonical_url
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, new_id, request_workflow_id
from fascicle.domain.summaries.request import (
    OPEN,
    Asked,
    Received,
    Reception,
    RequestStatus,
    RequestView,
    is_request_id,
    url_hash,
)
from fascicle.jobs.summaries import SummarizeInput, request_input, request_job
from fascicle.process.correlation_id import current_correlation_id
from fascicle.process.logs import get_logger
from fascicle.services.dependencies import Dependencies
from fascicle.services.fics.submission import checked_name
from fascicle.storage.database import transaction
from fascicle.storage.feeds import enrichment
from fascicle.storage.notifications.notice import answered
from fascicle.storage.series import library
from fascicle.storage.summaries import request as requests
from fascicle.storage.summaries import request_work as works
from fascicle.temporal.workflow_start import start_if_absent, start_job

_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0

log = get_logger("fascicle.request")


class RequestDesk:
    def __init__(self, engine: AsyncEngine, client: Client) -> None:
        self._engine = engine
        self._client = client

    async def submit(
        self, asked: Asked, on_wait: Callable[[str], None] = lambda request_id: None
    ) -> Received:
        """Have a page summarised; once, however many people ask, unless somebody asks for a refresh.

        `on_wait` is called with the request's id before the wait begins.
        """
        if asked.request_id is not None and not is_request_id(asked.request_id):
            raise UsageError("wrong_usage", "A request's id has 1 to 60 letters, digits, - and _.")
        url = canonical_url(asked.url) or asked.url
        now = datetime.now(UTC)
        async with transaction(self._engine) as connection:
            page = url_hash(asked.url)
            await requests.lock_page(connection, page)
            row, reception = await self._received(connection, asked, url, page, now)
            row = await self._row(connection, row["id"])  # it may have been reopened
            await self._subscribe(connection, asked, row["id"], now)
            if asked.item_id is not None:
                await _is_about(connection, row["id"], asked.item_id)
        if reception is not Reception.CACHED:
            await self._start(request_input(row))
        if asked.wait_seconds > 0 and reception is not Reception.CACHED:
            on_wait(row["id"])
        return Received(reception, await self._answer(asked, row["id"]))

    async def retry(self, request_id: str) -> Received:
        """Retry a failed, cancelled or waiting request; the results of its stages are kept."""
        async with transaction(self._engine) as connection:
            row = await self._row(connection, request_id)
            if row["status"] == RequestStatus.SUCCEEDED:
                raise UsageError(
                    "already_done",
                    f"{request_id} is done. `fascicle summarize {row['url']} --refresh` does it anew.",
                )
            await requests.lock_page(connection, row["url_hash"])
            other = await requests.newest_of(connection, row["url_hash"], *OPEN)
            if other is not None and other["id"] != request_id:
                raise UsageError("in_progress", f"Request {other['id']} is reading that page already.")
            reopened = await requests.reopen(connection, request_id, datetime.now(UTC))
            if not reopened:
                await requests.go_now(connection, request_id)
            row = await self._row(connection, request_id)
        await self._start(request_input(row))
        return Received(Reception.RETRIED if reopened else Reception.LOCK_HELD, await self.show(request_id))

    async def cancel(self, request_id: str) -> RequestView:
        """Stop the request in any stage. Its results are kept for a retry."""
        async with transaction(self._engine) as connection:
            await self._row(connection, request_id)
            ended = await requests.finish(
                connection, request_id, RequestStatus.CANCELLED, now=datetime.now(UTC)
            )
        if not ended:
            raise UsageError("not_open", f"{request_id} is over: `fascicle request show {request_id}`.")
        await self._cancel_workflow(request_workflow_id(request_id))
        return await self.show(request_id)

    async def show(self, request_id: str) -> RequestView:
        async with transaction(self._engine) as connection:
            view = await works.view(connection, request_id)
        if view is None:
            raise _unknown(request_id)
        return view

    async def _received(
        self, connection: AsyncConnection, asked: Asked, url: str, page: str, now: datetime
    ) -> tuple[dict[str, Any], Reception]:
        """The request that answers, and how it was found. The caller must hold the page's lock."""
        there = await self._answering(connection, asked, page)
        if there is not None:
            return there, await self._taken_up(connection, asked, there, now)
        request_id = asked.request_id or new_id()
        made = await requests.insert(
            connection,
            request_id,
            url=url,
            url_hash=page,
            correlation_id=current_correlation_id() or new_id(),
            now=now,
        )
        if not made:
            raise UsageError("id_taken", f"The id {request_id} was given to another request just now.")
        return await self._row(connection, request_id), Reception.STARTED

    async def _answering(self, connection: AsyncConnection, asked: Asked, page: str) -> dict[str, Any] | None:
        """The request for that page that answers: the one with the given id, an open one, a finished one, or
        a failed one. None: a new one is needed."""
        own = await self._of_that_id(connection, asked, page)
        if own is not None and asked.refresh and own["status"] == RequestStatus.SUCCEEDED:
            raise UsageError("already_done", f"Request {own['id']} is done: --refresh needs another id.")
        if own is not None and own["status"] in OPEN:
            return own
        there = await requests.newest_of(connection, page, *OPEN) or own
        if there is None and not asked.refresh:
            there = await requests.newest_of(connection, page, RequestStatus.SUCCEEDED)
            if there is None and asked.request_id is None:
                there = await requests.newest_of(
                    connection, page, RequestStatus.FAILED, RequestStatus.CANCELLED
                )
        return there

    async def _taken_up(
        self, connection: AsyncConnection, asked: Asked, row: dict[str, Any], now: datetime
    ) -> Reception:
        if row["status"] == RequestStatus.SUCCEEDED:
            return Reception.CACHED
        if await requests.reopen(connection, row["id"], now):
            return Reception.RETRIED
        return Reception.LOCK_HELD if row["id"] == asked.request_id else Reception.JOINED

    async def _of_that_id(
        self, connection: AsyncConnection, asked: Asked, page: str
    ) -> dict[str, Any] | None:
        if asked.request_id is None:
            return None
        row = await requests.find(connection, asked.request_id, lock=True)
        if row is not None and row["url_hash"] != page:
            raise UsageError("id_taken", f"The id {asked.request_id} belongs to a request for {row['url']}.")
        return row

    async def _subscribe(
        self, connection: AsyncConnection, asked: Asked, request_id: str, now: datetime
    ) -> None:
        if asked.user is None:
            return
        name = checked_name(asked.user)
        user_id = await library.find_user(connection, name)
        if user_id is None:
            user_id, _ = await library.add_user(connection, name)
        waits = now + timedelta(seconds=asked.wait_seconds) if asked.wait_seconds > 0 else None
        await requests.subscribe(connection, request_id, user_id, waits)

    async def _start(self, request: SummarizeInput) -> bool:
        """False: its workflow is running, which is the lock, so this start is skipped (R1)."""
        if await start_if_absent(self._client, job := request_job(request)):
            return True
        log.info("lock_held", request_id=request.request_id, correlation_id=request.correlation_id)
        # If the workflow is about to end, the signal makes it check the row again, which may be reopened.
        await start_job(self._client, job)
        return False

    async def _answer(self, asked: Asked, request_id: str) -> RequestView:
        """The request when it ends or the wait is over. A result returned here is not sent as a message."""
        view = await self.show(request_id)
        deadline = asyncio.get_running_loop().time() + asked.wait_seconds
        pause = _FIRST_LOOK
        while not view.finished and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(pause)
            pause = min(_LONGEST_LOOK, pause * 1.3)
            view = await self.show(request_id)
        if view.finished and asked.user is not None and asked.wait_seconds > 0:
            await self._heard(view, checked_name(asked.user))
        return view

    async def _heard(self, view: RequestView, user: str) -> None:
        async with transaction(self._engine) as connection:
            row = await self._row(connection, view.id)
            user_id = await library.find_user(connection, user)
            spared = user_id is not None and await answered(
                connection, view.workflow_id, row["round"], user_id, datetime.now(UTC)
            )
        if spared:  # its workflow only waits to send the message that is now discarded
            await self._signal(view.workflow_id)

    async def _signal(self, workflow_id: str) -> None:
        try:
            await self._client.get_workflow_handle(workflow_id).signal(LOOK_AGAIN_SIGNAL)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # not found: the workflow has ended already
                raise

    async def _cancel_workflow(self, workflow_id: str) -> None:
        try:
            await self._client.get_workflow_handle(workflow_id).cancel()
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise

    async def _row(self, connection: AsyncConnection, request_id: str) -> dict[str, Any]:
        row = await requests.find(connection, request_id)
        if row is None:
            raise _unknown(request_id)
        return row


async def _is_about(connection: AsyncConnection, request_id: str, item_id: int) -> None:
    """Give the item the summary: now, if there is one; otherwise when the request ends."""
    await requests.is_about(connection, request_id, item_id)
    view = await works.view(connection, request_id)
    if view is not None and view.summary is not None:
        stored = view.summary
        await enrichment.keep_summary(connection, item_id, stored.summary.summary_250, stored.method)


def _unknown(request_id: str) -> UsageError:
    return UsageError("unknown_request", f"There is no request {request_id}: `fascicle request list`.")


def open_request_desk(dependencies: Dependencies, client: Client) -> RequestDesk:
    return RequestDesk(dependencies.engine, client)
