"""The counter of the requests: what people and programs ask, and what they are answered (R1, R2)."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.fic_asking import checked_name
from activities.looking_after import (
    SummarizeInput,
    look_after_request,
    request_input,
    request_options,
)
from fascicle.domain.canonical_url import canonical_url
from fascicle.domain.errors import UsageError
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, MAIN_QUEUE, new_id, request_workflow_id
from fascicle.domain.request import (
    OPEN,
    Asked,
    Received,
    Reception,
    RequestStatus,
    RequestView,
    is_request_id,
    url_hash,
)
from fascicle.runtime.correlation_id import current_correlation_id
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.logs import get_logger
from fascicle.storage import enrichment, library
from fascicle.storage import request as requests
from fascicle.storage import request_work as works
from fascicle.storage.database import transaction
from fascicle.storage.notice import answered

_FIRST_LOOK, _LONGEST_LOOK = 0.1, 1.0

log = get_logger("fascicle.request")


class RequestDesk:
    def __init__(self, engine: AsyncEngine, client: Client) -> None:
        self._engine = engine
        self._client = client

    async def submit(
        self, asked: Asked, on_wait: Callable[[str], None] = lambda request_id: None
    ) -> Received:
        """Have a page summarised; at most once, however many ask, unless somebody wants it done anew.

        `on_wait` hears which request is waited for, before it is.
        """
        if asked.request_id is not None and not is_request_id(asked.request_id):
            raise UsageError("wrong_usage", "A request's id has 1 to 60 letters, digits, - and _.")
        url = canonical_url(asked.url) or asked.url
        now = datetime.now(UTC)
        async with transaction(self._engine) as connection:
            page = url_hash(asked.url)
            await requests.lock_page(connection, page)
            row, reception = await self._received(connection, asked, url, page, now)
            row = await self._row(connection, row["id"])  # it may have been opened anew
            await self._subscribe(connection, asked, row["id"], now)
            if asked.item_id is not None:
                await _is_about(connection, row["id"], asked.item_id)
        if reception is not Reception.CACHED:
            await self._start(request_input(row))
        if asked.wait_seconds > 0 and reception is not Reception.CACHED:
            on_wait(row["id"])
        return Received(reception, await self._answer(asked, row["id"]))

    async def retry(self, request_id: str) -> Received:
        """Try again what failed or was cancelled, or what waits; what its stages left behind is kept."""
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
        """Stop it, wherever it is. What it had done is kept for a retry."""
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
        """The request that answers, and how it comes to. Hold the page's lock."""
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
        """Of the requests for that page: the one of that id, one that is being done, one that is done, one
        that failed. None: it takes a new one."""
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
        """False: its workflow runs, which is the lock; this start is skipped (R1)."""
        try:
            await self._client.start_workflow(
                "SummarizeWorkflow",
                request,
                id=request_workflow_id(request.request_id),
                task_queue=MAIN_QUEUE,
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
                **request_options(request),
            )
        except WorkflowAlreadyStartedError:
            log.info("lock_held", request_id=request.request_id, correlation_id=request.correlation_id)
            # Should it be about to end, it looks once more at the row, which may have been opened again.
            await look_after_request(self._client, request)
            return False
        return True

    async def _answer(self, asked: Asked, request_id: str) -> RequestView:
        """What there is within the wait. Who has it need not be sent it as well."""
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
        if spared:  # its workflow waits only to send that message
            await self._signal(view.workflow_id)

    async def _signal(self, workflow_id: str) -> None:
        try:
            await self._client.get_workflow_handle(workflow_id).signal(LOOK_AGAIN_SIGNAL)
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # then it is over already
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
    """The item gets the summary: now, if there is one; else when the request, whoever began it, is done."""
    await requests.is_about(connection, request_id, item_id)
    view = await works.view(connection, request_id)
    if view is not None and view.summary is not None:
        stored = view.summary
        await enrichment.keep_summary(connection, item_id, stored.summary.summary_250, stored.method)


def _unknown(request_id: str) -> UsageError:
    return UsageError("unknown_request", f"There is no request {request_id}: `fascicle request list`.")


def open_request_desk(dependencies: Dependencies, client: Client) -> RequestDesk:
    return RequestDesk(dependencies.engine, client)
