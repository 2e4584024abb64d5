"""Breaking the connection of an ASGI application; ASGI itself has no message for that."""

import asyncio
import socket
import struct

from starlette.types import Receive, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

TRANSPORT = "simulator.transport"
LINGER_ZERO = struct.pack("ii", 1, 0)


class BreakableProtocol(H11Protocol):
    """uvicorn's protocol, with the connection's transport in the state of each of its requests."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


async def close_early(scope: Scope, receive: Receive) -> None:
    """Send everything written so far, then close, even if the announced length is greater."""
    _transport(scope).close()
    await _until_disconnected(receive)


async def reset(scope: Scope, receive: Receive) -> None:
    """End the connection with a TCP reset."""
    transport = _transport(scope)
    if transport.is_closing():
        return
    # With a linger of zero, the kernel sends RST instead of FIN.
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
    transport.abort()
    await _until_disconnected(receive)


def is_closing(scope: Scope) -> bool:
    """Whether the client is known to be gone; always False if the server runs another protocol."""
    transport = scope.get("state", {}).get(TRANSPORT)
    return isinstance(transport, asyncio.Transport) and transport.is_closing()


async def _until_disconnected(receive: Receive) -> None:
    # On an earlier return, uvicorn would log an unfinished response as an error of the application.
    while (await receive())["type"] != "http.disconnect":
        pass


def _transport(scope: Scope) -> asyncio.Transport:
    transport = scope.get("state", {}).get(TRANSPORT)
    if not isinstance(transport, asyncio.Transport):
        raise RuntimeError("a connection can only be broken when the server runs BreakableProtocol")
    return transport
