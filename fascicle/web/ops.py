"""GET /health, /ready and /metrics (O1)."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fascicle.domain.names import new_id
from fascicle.process.correlation_id import correlated, is_correlation_id

CORRELATION_HEADER = "X-Correlation-Id"
# Loading them takes 40 ms of CPU for each client, and the SDK serves its metrics over plain HTTP.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

Probe = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class OpsProbes:
    """The sources of the pages: each answers quickly and never raises."""

    temporal: Probe
    database: Probe
    worker: Callable[[], str]
    """`running`, or the state that the worker is in instead."""
    disk_has_room: Callable[[], bool]
    """False: too little space to continue."""
    active_jobs: Callable[[], int]
    about: Callable[[], Awaitable[dict[str, Any]]]
    """Further facts about this worker for /ready."""
    metrics: Callable[[], Awaitable[str]]
    """The metrics of this process, in the text format of Prometheus."""
    state: Callable[[], Awaitable[str]]
    """The state in the database, in the text format of Prometheus."""


async def read_metrics(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False, timeout=5, verify=_NO_CERTIFICATES) as client:
        return (await client.get(url)).text


def ops_app(probes: OpsProbes, more: Sequence[Route] = ()) -> Starlette:
    """The pages, and `more` routes of other modules beside them."""

    async def index(request: Request) -> Response:
        return PlainTextResponse("Fascicle: /health /ready /metrics\n")

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> Response:
        temporal, database, about = await asyncio.gather(probes.temporal(), probes.database(), probes.about())
        worker = probes.worker()
        checks = {
            "temporal": "up" if temporal else "down",
            "database": "up" if database else "down",
            "worker": worker,
            "disk": "ok" if probes.disk_has_room() else "full",
        }
        is_ready = temporal and database and worker == "running" and checks["disk"] == "ok"
        body = {"ready": is_ready, **checks, "active_jobs": probes.active_jobs(), **about}
        return JSONResponse(body, status_code=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        try:
            counted = await probes.metrics()
        except httpx.HTTPError as error:
            return PlainTextResponse(f"# metrics are not available: {error}\n", status_code=503)
        content = (counted + await probes.state()).encode()
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/health", health),
            Route("/ready", ready),
            Route("/metrics", metrics),
            *more,
        ],
        middleware=[Middleware(CorrelatedRequests)],
    )


class CorrelatedRequests:
    """Gives each request a correlation id: the caller's, or a new one. The answer contains it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(CORRELATION_HEADER, "")
        correlation_id = given if is_correlation_id(given) else new_id()

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[CORRELATION_HEADER] = correlation_id
            await send(message)

        # A caller that disconnects during its request is no error of ours.
        with correlated(correlation_id), suppress(ClientDisconnect):
            await self._app(scope, receive, send_with_id)
