"""The one builder: settings in, everything that does I/O out. Tests build their own."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import UsageError
from fascicle.runtime.http import HttpClient, HttpLimits
from fascicle.runtime.notifier import Notifier
from fascicle.runtime.settings import Settings
from fascicle.runtime.ssrf import HostGuard
from fascicle.sites.base import Sites
from fascicle.sites.mangadex import MangaDex
from fascicle.storage.database import open_engine
from fascicle.storage.gate import Gates

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Dependencies:
    settings: Settings
    engine: AsyncEngine
    http: HttpClient
    sites: Sites
    notifier: Notifier
    clock: Clock


def utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_dependencies(settings: Settings, *, clock: Clock = utc_now) -> AsyncIterator[Dependencies]:
    """Everything, closed again at the end. Opens no connection yet: each is made at first use."""
    if settings.database_url is None:
        raise UsageError(
            "no_database",
            "No database: set DATABASE_URL, or start the embedded stack with `fascicle up`.",
        )
    engine = open_engine(settings.database_url.get_secret_value(), pool_size=settings.database_pool)
    guard = HostGuard(settings.allow_hosts)
    http = HttpClient(
        gates=Gates(engine), guard=guard, user_agent=settings.user_agent, limits=_limits(settings)
    )
    notifier = Notifier(guard, concurrency=settings.max_concurrent_deliveries)
    try:
        yield Dependencies(settings, engine, http, _sites(settings, http), notifier, clock)
    finally:
        notifier.close()
        await http.aclose()
        await engine.dispose()


def _limits(settings: Settings) -> HttpLimits:
    return HttpLimits(
        timeout_seconds=settings.http_timeout_seconds,
        max_bytes=settings.http_max_bytes,
        max_redirects=settings.http_max_redirects,
        gate_patience_seconds=settings.gate_patience_seconds,
    )


def _sites(settings: Settings, http: HttpClient) -> Sites:
    mangadex = MangaDex(
        http, base_url=settings.mangadex_url, interval_seconds=settings.mangadex_interval_seconds
    )
    return Sites([mangadex])
