"""Serves the ops pages on their port as long as a worker lives."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn
from starlette.types import ASGIApp

from fascicle.domain.errors import UsageError
from fascicle.web.slow_clients import GuardedProtocol


@contextlib.asynccontextmanager
async def serving(app: ASGIApp, host: str, port: int) -> AsyncIterator[None]:
    """Raises a UsageError if the port cannot be used."""
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = _QuietServer(config)
    task = asyncio.create_task(server.serve(sockets=[_listen(host, port)]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


class _QuietServer(uvicorn.Server):
    """A server that leaves signals to the worker."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle off only if the protocol is given.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise UsageError(
            "port_taken",
            f"{host}:{port} cannot be used ({error.strerror}). Set FASCICLE_OPS_PORT to a free port.",
        ) from error
    listener.listen(100)
    return listener
