"""Ends HTTP connections that never finish their request: each would keep an open file of the process."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# From the first byte, or the connection, to the end of the request's body.
REQUEST_SECONDS = 10.0
MOST_CONNECTIONS = 200
_HALF_SENT = (h11.IDLE, h11.SEND_BODY)


class GuardedProtocol(H11Protocol):
    """Ends connections whose request is not complete in time, and the oldest if there are too many."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > MOST_CONNECTIONS:
            self._oldest_waiting().end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in _HALF_SENT:
            self._stop_waiting()
        elif self._deadline is None:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def end(self) -> None:
        self._stop_waiting()
        # At once, not when the other side closes: until then a new connection would find no room.
        self.connections.discard(self)
        self.transport.abort()

    def _expect_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.end)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _oldest_waiting(self) -> "GuardedProtocol":
        """The oldest one without a complete request; if there is no other, this new connection itself."""
        waiting = {
            one._deadline.when(): one
            for one in self.connections
            if isinstance(one, GuardedProtocol) and one._deadline is not None
        }
        return waiting[min(waiting)]
