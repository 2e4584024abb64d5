"""One ASGI application: the control API, and the upstreams behind the log, the limits and the faults."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from simulator.answers import ErrorForm, Upstream, plain_error
from simulator.ao3 import Ao3
from simulator.control import Control
from simulator.deviantart import DeviantArt
from simulator.discord import Discord
from simulator.faults import FaultyApp
from simulator.feeds import EmbeddingSite, Feeds, YouTube
from simulator.firecrawl import Firecrawl
from simulator.inkpages import InkPages
from simulator.llm import Llm
from simulator.mangadex import MangaDex
from simulator.mangaplus import MangaPlus
from simulator.metered import SendingApp
from simulator.objects import S3
from simulator.panelbox import PanelBox
from simulator.press import PressSite
from simulator.rate_limit import RateLimitedApp
from simulator.releaser import Releaser
from simulator.request_log import LoggedApp
from simulator.royalroad import RoyalRoad
from simulator.simulation import Simulation
from simulator.weebcentral import WeebCentral
from simulator.world import World

CONTROL_PREFIX = "/_sim"
SITES: tuple[Callable[[World], Upstream], ...] = (
    MangaDex,
    MangaPlus,
    WeebCentral,
    InkPages,
    PanelBox,
    RoyalRoad,
)


class SimulatorApp:
    """With `release_every`, releases a chapter every so many seconds while it runs; see Releaser."""

    def __init__(self, simulation: Simulation, release_every: float | None = None) -> None:
        self._releaser = (
            Releaser(simulation.world, release_every, simulation.feeds) if release_every else None
        )
        self._upstreams: list[Upstream] = [site(simulation.world) for site in SITES]
        self._upstreams += [
            DeviantArt(simulation.deviantart),
            Ao3(simulation.ao3),
            Discord(simulation.discord),
            Feeds(simulation.feeds),
            YouTube(simulation.feeds),
            EmbeddingSite(simulation.feeds, "Spotify"),
            EmbeddingSite(simulation.feeds, "SoundCloud"),
            S3(simulation.objects),
            Llm(simulation.llm),
            Firecrawl(simulation.firecrawl, simulation.press),
            PressSite(simulation.press),
        ]
        self._control = Starlette(routes=Control(simulation).routes(CONTROL_PREFIX), lifespan=self._lifespan)
        self._pipeline = self._build_pipeline(simulation)

    def _build_pipeline(self, simulation: Simulation) -> ASGIApp:
        mounts = [Mount(upstream.prefix, app=upstream) for upstream in self._upstreams]
        sites = Starlette(routes=[*mounts, simulation.sink.route()])
        faulty = FaultyApp(sites, simulation.faults, self._error_form_of)
        limited = RateLimitedApp(faulty, simulation.rate_limits, self._error_form_of)
        return SendingApp(LoggedApp(limited, simulation.requests))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"].startswith(f"{CONTROL_PREFIX}/"):
            await self._control(scope, receive, send)
            return
        # Only a stopping server cancels a request, and it has cut the connection already.
        with suppress(asyncio.CancelledError):
            await self._pipeline(scope, receive, send)

    def _error_form_of(self, path: str) -> ErrorForm:
        for upstream in self._upstreams:
            if path.startswith(f"{upstream.prefix}/"):
                return upstream.error
        return plain_error

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        if self._releaser is None:
            yield
            return
        releasing = asyncio.create_task(self._releaser.run(), name="releaser")
        try:
            yield
        finally:
            releasing.cancel()
            with suppress(asyncio.CancelledError):
                await releasing
