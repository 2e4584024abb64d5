"""Builds everything that does I/O from the settings. Tests build their own.

A part is imported and built at its first use: a command that only lists rows of the database needs neither
the sites nor an HTTP client, and should not wait for them.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.ao3 import is_archive
from fascicle.domain.gate import GatePolicy
from fascicle.domain.urls import page_host
from fascicle.settings.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from fascicle.net.http import GateBook, HouseGate, HttpClient
    from fascicle.sandbox import Sandbox
    from fascicle.services.notifications.notifier import Notifier
    from fascicle.services.publishing.tokens import Tokens
    from fascicle.sites.articles import Articles, Firecrawl
    from fascicle.sites.base import ChapterSite, Sites
    from fascicle.sites.declarative import Surroundings
    from fascicle.sites.deviantart.oauth import DeviantArtOAuth
    from fascicle.sites.deviantart.site import DeviantArt
    from fascicle.sites.discord import Discord
    from fascicle.sites.feeds.client import Feeds
    from fascicle.sites.fic import Ao3, OtherFicSites
    from fascicle.sites.llm import LanguageModel
    from fascicle.sites.pages import Pages
    from fascicle.storage.operations.gate import Gates, GateWatch
    from fascicle.storage.operations.vault import Vault
    from fascicle.storage.publishing.objects import ObjectStore, ObjectStoreOptions

Clock = Callable[[], datetime]


class Dependencies:
    """Everything that does I/O. No part opens a connection before its first use."""

    def __init__(
        self,
        settings: Settings,
        engine: "AsyncEngine",
        clock: Clock,
        cleanup: AsyncExitStack,
        gate_watch: "GateWatch | None" = None,
        sandbox: "Sandbox | None" = None,
    ) -> None:
        """`cleanup` closes the built parts, last one first. `sandbox`: a shared one, closed by its owner."""
        self.settings = settings
        self.engine = engine
        self.clock = clock
        self._cleanup = cleanup
        self._gate_watch = gate_watch
        self._shared_sandbox = sandbox

    @cached_property
    def http(self) -> "HttpClient":
        http = _http_client(self.settings, self._gates, archive_gate(self.settings))
        self._cleanup.push_async_callback(http.aclose)
        return http

    @cached_property
    def sites(self) -> "Sites":
        return build_sites(self.settings, self.http, self.sandbox)

    @cached_property
    def sandbox(self) -> "Sandbox":
        if self._shared_sandbox is not None:
            return self._shared_sandbox
        sandbox = build_sandbox(self.settings)
        self._cleanup.push_async_callback(sandbox.close)
        return sandbox

    @cached_property
    def notifier(self) -> "Notifier":
        from fascicle.net.ssrf import HostGuard
        from fascicle.services.notifications.notifier import Notifier

        guard = HostGuard(self.settings.allow_hosts)
        notifier = Notifier(guard, concurrency=self.settings.max_concurrent_deliveries)
        self._cleanup.callback(notifier.close)
        return notifier

    @cached_property
    def vault(self) -> "Vault":
        return build_vault(self.settings)

    @cached_property
    def oauth(self) -> "DeviantArtOAuth":
        return _oauth(self.settings, self.http)

    @cached_property
    def tokens(self) -> "Tokens":
        from fascicle.services.publishing.tokens import Tokens

        at_once = min(4, max(1, self.settings.database_pool // 2))
        tokens = Tokens(self.engine, self.vault, self.oauth, renewals_at_once=at_once)
        self._cleanup.push_async_callback(tokens.aclose)
        return tokens

    @cached_property
    def deviantart(self) -> "DeviantArt":
        from fascicle.sites.deviantart.site import DeviantArt

        return DeviantArt(self.http, base_url=self.settings.deviantart_url)

    @cached_property
    def objects(self) -> "ObjectStore":
        from fascicle.storage.publishing.objects import open_object_store

        return open_object_store(object_store_options(self.settings))

    @cached_property
    def ao3(self) -> "Ao3":
        from fascicle.sites.fic import Ao3

        return Ao3(self.http, self.sandbox, base_url=self.settings.ao3_url, policy=self.settings.ao3_gate)

    @cached_property
    def other_fics(self) -> "OtherFicSites":
        from fascicle.sites.fanficfare import FanFicFare
        from fascicle.sites.fic import OtherFicSites

        http, settings = self.http, self.settings
        reader = FanFicFare(settings.fic_processes)
        self._cleanup.push_async_callback(reader.close)
        return OtherFicSites(http, reader, bases=settings.fic_bases, policy=settings.fic_gate)

    @cached_property
    def discord(self) -> "Discord":
        from fascicle.sites.discord import Discord

        settings = self.settings
        return Discord(self.http, base_url=settings.discord_url, bot_token=settings.discord_bot_token)

    @cached_property
    def feeds(self) -> "Feeds":
        from fascicle.sites.feeds.client import Feeds
        from fascicle.sites.feeds.reader import FeedReader

        http, settings = self.http, self.settings
        reader = FeedReader(self.sandbox, max_entries=settings.feed_max_entries)
        return Feeds(http, reader, gate=settings.feed_gate, youtube=settings.youtube_url)

    @cached_property
    def pages(self) -> "Pages":
        return _pages(self.settings, self.http, self.sandbox)

    @cached_property
    def articles(self) -> "Articles":
        return build_articles(self.settings, self.http, self._services, self.sandbox)

    @cached_property
    def language_model(self) -> "LanguageModel | None":
        """None: no model is configured, so summaries are extractive."""
        return _language_model(self.settings, self._services)

    @cached_property
    def _gates(self) -> "Gates":
        from fascicle.storage.operations.gate import Gates

        return Gates(self.engine, self._gate_watch)

    @cached_property
    def _services(self) -> "HttpClient":
        services = _services_client(self.settings, self._gates)
        self._cleanup.push_async_callback(services.aclose)
        return services


def utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_dependencies(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    gate_watch: "GateWatch | None" = None,
    sandbox: "Sandbox | None" = None,
    only_reads: bool = False,
) -> AsyncIterator[Dependencies]:
    """All dependencies, closed again at the end. Connections are opened at first use.

    `only_reads`: quicker to load, and the database refuses any change.
    """
    from fascicle.storage.database import open_engine, open_reading_engine

    if settings.database_url is None:
        raise UsageError(
            "no_database",
            "No database: set DATABASE_URL, or start the embedded stack with `fascicle up`.",
        )
    url = settings.database_url.get_secret_value()
    engine = open_reading_engine(url) if only_reads else open_engine(url, pool_size=settings.database_pool)
    async with AsyncExitStack() as cleanup:
        cleanup.push_async_callback(engine.dispose)
        yield Dependencies(settings, engine, clock, cleanup, gate_watch, sandbox)


@asynccontextmanager
async def standalone_http(settings: Settings) -> "AsyncIterator[HttpClient]":
    """The HTTP client for a command without a database: its gates exist only in this process, so it may not
    call AO3, whose gate is shared by the whole installation."""
    from fascicle.net.local_gates import LocalGates

    http = _http_client(settings, LocalGates(), _no_archive)
    try:
        yield http
    finally:
        await http.aclose()


@asynccontextmanager
async def standalone_articles(settings: Settings) -> "AsyncIterator[Articles]":
    """The article reader for a command without a database."""
    from fascicle.net.local_gates import LocalGates

    async with standalone_http(settings) as http:
        services = _services_client(settings, LocalGates())
        try:
            async with build_sandbox(settings) as sandbox:
                yield build_articles(settings, http, services, sandbox)
        finally:
            await services.aclose()


def build_sandbox(settings: Settings) -> "Sandbox":
    """The processes that parse untrusted documents of all kinds; the larger setting gives their number."""
    from fascicle.sandbox import Sandbox

    return Sandbox(max(1, settings.feed_processes, settings.article_processes))


def archive_gate(settings: Settings) -> "HouseGate":
    """All requests to AO3, also for feeds and for pages of items, go through the gate of its fics."""
    from fascicle.net.http import Gated
    from fascicle.sites.fic import AO3_GATE

    base = settings.ao3_url
    public, own = Gated(AO3_GATE, settings.archive_gate), Gated(AO3_GATE, settings.ao3_gate)

    def gate_of(url: str) -> "Gated | None":
        if is_archive(page_host(url)):
            return public
        return own if url == base or url.startswith(f"{base}/") else None

    return gate_of


def _no_archive(url: str) -> None:
    if is_archive(page_host(url)):
        raise UsageError(
            "needs_gate",
            "AO3 is asked only through the gate of the whole installation, out of this command's reach. "
            "Save the page in a browser and give the file.",
        )


def _services_client(settings: Settings, gates: "GateBook") -> "HttpClient":
    """The client for the model and Firecrawl. Only it may call the hosts that the operator configured for
    them, even private ones; a client for untrusted pages may not."""
    own = [urlsplit(url).netloc for url in (settings.llm_url, settings.firecrawl_url) if url]
    return _http_client(settings, gates, _no_archive, allow_hosts=[*settings.allow_hosts, *own])


def _http_client(
    settings: Settings,
    gates: "GateBook",
    house_gate: "HouseGate",
    *,
    allow_hosts: Sequence[str] | None = None,
) -> "HttpClient":
    from fascicle.net.http import HttpClient, HttpLimits
    from fascicle.net.ssrf import HostGuard

    return HttpClient(
        gates=gates,
        house_gate=house_gate,
        guard=HostGuard(settings.allow_hosts if allow_hosts is None else allow_hosts),
        user_agent=settings.user_agent,
        limits=HttpLimits(
            timeout_seconds=settings.http_timeout_seconds,
            max_bytes=settings.http_max_bytes,
            max_redirects=settings.http_max_redirects,
            gate_patience_seconds=settings.gate_patience_seconds,
        ),
    )


def _pages(settings: Settings, http: "HttpClient", sandbox: "Sandbox") -> "Pages":
    from fascicle.sites.pages import Pages

    return Pages(
        http,
        sandbox,
        gate=settings.page_gate,
        youtube=settings.youtube_url,
        spotify=settings.spotify_url,
        soundcloud=settings.soundcloud_url,
    )


def build_articles(
    settings: Settings, http: "HttpClient", services: "HttpClient", sandbox: "Sandbox"
) -> "Articles":
    from fascicle.sites.articles import Articles

    return Articles(
        http,
        sandbox,
        gate=settings.article_gate,
        min_words=settings.article_min_words,
        firecrawl=_firecrawl(settings, http, services),
    )


def _firecrawl(settings: Settings, http: "HttpClient", services: "HttpClient") -> "Firecrawl | None":
    from fascicle.sites.articles import FIRECRAWL_CLOUD, Firecrawl

    if settings.firecrawl_url is None and settings.firecrawl_api_key is None:
        return None
    return Firecrawl(
        services,
        pages=http,
        base_url=settings.firecrawl_url or FIRECRAWL_CLOUD,
        api_key=settings.firecrawl_api_key,
        timeout_seconds=settings.firecrawl_timeout_seconds,
    )


def _language_model(settings: Settings, http: "HttpClient") -> "LanguageModel | None":
    from fascicle.sites.llm import OPENROUTER, LanguageModel

    if settings.llm_url is None and settings.llm_api_key is None:
        return None
    return LanguageModel(
        http,
        base_url=settings.llm_url or OPENROUTER,
        api_key=settings.llm_api_key,
        policy=GatePolicy(settings.llm_interval_seconds),
        timeout_seconds=settings.llm_timeout_seconds,
    )


def build_vault(settings: Settings) -> "Vault":
    from fascicle.storage.operations.vault import Vault

    return Vault(
        keys=settings.token_keys.get_secret_value() if settings.token_keys else None,
        file=settings.token_keys_file,
        made_file=settings.data_dir.expanduser() / "token-keys",
    )


def _oauth(settings: Settings, http: "HttpClient") -> "DeviantArtOAuth":
    from fascicle.sites.deviantart.oauth import DeviantArtOAuth

    secret = settings.deviantart_client_secret
    return DeviantArtOAuth(
        http,
        base_url=settings.deviantart_url,
        client_id=settings.deviantart_client_id,
        client_secret=secret.get_secret_value() if secret else None,
        policy=settings.account_gate,
    )


def object_store_options(settings: Settings) -> "ObjectStoreOptions":
    from fascicle.storage.publishing.objects import ObjectStoreOptions

    secret = settings.s3_secret_access_key
    return ObjectStoreOptions(
        folder=(settings.files_dir or settings.data_dir / "files").expanduser(),
        bucket=settings.s3_bucket,
        endpoint=settings.s3_endpoint,
        region=settings.s3_region,
        access_key_id=settings.s3_access_key_id,
        secret_access_key=secret.get_secret_value() if secret else None,
        path_prefix=settings.s3_path_prefix,
    )


def surroundings(settings: Settings) -> "Surroundings":
    from fascicle.net.ssrf import HostGuard
    from fascicle.sites.declarative import Surroundings

    return Surroundings(settings.site_variables, HostGuard(settings.allow_hosts))


def build_sites(settings: Settings, http: "HttpClient", sandbox: "Sandbox") -> "Sites":
    """The programmed sites, and those that files describe; broken files are noted and are not fatal."""
    from fascicle.sites.base import Sites
    from fascicle.sites.declarative import load_folder
    from fascicle.sites.mangadex import MangaDex
    from fascicle.sites.mangaplus import MangaPlus
    from fascicle.sites.weebcentral.site import WeebCentral

    programmed: list[ChapterSite] = [
        MangaDex(http, base_url=settings.mangadex_url, interval_seconds=settings.mangadex_interval_seconds),
        MangaPlus(
            http, base_url=settings.mangaplus_url, interval_seconds=settings.mangaplus_interval_seconds
        ),
        WeebCentral(
            http,
            sandbox,
            base_url=settings.weebcentral_url,
            interval_seconds=settings.weebcentral_interval_seconds,
        ),
    ]
    taken = [site.name for site in programmed]
    described, broken = load_folder(http, sandbox, settings.sites_dir, surroundings(settings), taken=taken)
    return Sites([*programmed, *described], broken)
