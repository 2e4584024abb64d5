"""Whether answers were really sent; only the outermost layer knows, since faults hold and cut answers."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulator.connection import is_closing

NOTE_SENT = "simulator.note_sent"


class SendingApp:
    """Runs an application; calls the `note` of `tell_when_sent` with whether the whole answer was sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_told = False

        def tell(sent: bool) -> None:
            nonlocal is_told
            note = scope.get("state", {}).get(NOTE_SENT)
            if note is not None and not is_told:
                is_told = True
                note(sent)

        async def watch(message: Message) -> None:
            # Note it before sending, so that a client that has the answer finds it in the ledger.
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                tell(not is_closing(scope))
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            tell(False)


def tell_when_sent(scope: Scope, note: Callable[[bool], None]) -> None:
    scope.setdefault("state", {})[NOTE_SENT] = note


async def wait_unless_left(receive: Receive, seconds: float) -> None:
    """Wait until the time is over or the client leaves. The body must have been read from `receive`."""
    if not seconds:
        return
    leaving = asyncio.ensure_future(_disconnected(receive))
    await asyncio.wait([leaving], timeout=seconds)
    leaving.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
