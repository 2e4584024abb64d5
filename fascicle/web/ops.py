"""GET /health, /ready and /metrics (O1)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

Probe = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class OpsProbes:
    """What the pages ask: each answers quickly and never raises."""

    temporal: Probe
    database: Probe
    worker: Callable[[], str]
    """`running`, or what it is doing instead."""
    active_jobs: Callable[[], int]
    metrics_url: str


def ops_app(probes: OpsProbes, more: Sequence[Route] = ()) -> Starlette:
    """The pages, and `more` routes of other modules beside them."""

    async def index(request: Request) -> Response:
        return PlainTextResponse("Fascicle: /health /ready /metrics\n")

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def ready(request: Request) -> Response:
        temporal, database = await asyncio.gather(probes.temporal(), probes.database())
        worker = probes.worker()
        checks = {
            "temporal": "up" if temporal else "down",
            "database": "up" if database else "down",
            "worker": worker,
        }
        is_ready = temporal and database and worker == "running"
        body = {"ready": is_ready, **checks, "active_jobs": probes.active_jobs()}
        return JSONResponse(body, status_code=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
                answer = await client.get(probes.metrics_url)
        except httpx.HTTPError as error:
            return PlainTextResponse(f"# metrics are not available: {error}\n", status_code=503)
        return Response(answer.content, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Starlette(
        routes=[
            Route("/", index),
            Route("/health", health),
            Route("/ready", ready),
            Route("/metrics", metrics),
            *more,
        ]
    )
