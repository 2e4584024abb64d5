"""The one builder: settings in, everything that does I/O out. Tests build their own."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.ao3 import is_archive
from fascicle.domain.errors import UsageError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.urls import page_host
from fascicle.runtime.http import GateBook, Gated, HouseGate, HttpClient, HttpLimits
from fascicle.runtime.local_gates import LocalGates
from fascicle.runtime.notifier import Notifier
from fascicle.runtime.settings import Settings
from fascicle.runtime.ssrf import HostGuard
from fascicle.runtime.tokens import Tokens
from fascicle.sites.articles import FIRECRAWL_CLOUD, Articles, Firecrawl
from fascicle.sites.base import ChapterSite, Sites
from fascicle.sites.declarative import Surroundings, load_folder
from fascicle.sites.deviantart import DeviantArt
from fascicle.sites.deviantart_oauth import DeviantArtOAuth
from fascicle.sites.discord import Discord
from fascicle.sites.fanficfare import FanFicFare
from fascicle.sites.feeds.client import Feeds
from fascicle.sites.feeds.reader import FeedReader
from fascicle.sites.fic import AO3_GATE, Ao3, OtherFicSites
from fascicle.sites.llm import OPENROUTER, LanguageModel
from fascicle.sites.mangadex import MangaDex
from fascicle.sites.mangaplus import MangaPlus
from fascicle.sites.pages import Pages
from fascicle.sites.weebcentral import WeebCentral
from fascicle.storage.database import open_engine
from fascicle.storage.gate import Gates, GateWatch
from fascicle.storage.objects import ObjectStore, ObjectStoreOptions, open_object_store
from fascicle.storage.vault import Vault

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Dependencies:
    settings: Settings
    engine: AsyncEngine
    http: HttpClient
    sites: Sites
    notifier: Notifier
    clock: Clock
    vault: Vault
    oauth: DeviantArtOAuth
    tokens: Tokens
    deviantart: DeviantArt
    objects: ObjectStore
    ao3: Ao3
    other_fics: OtherFicSites
    discord: Discord
    feeds: Feeds
    pages: Pages
    articles: Articles
    language_model: LanguageModel | None
    """None: summaries are extractive."""


def utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_dependencies(
    settings: Settings, *, clock: Clock = utc_now, gate_watch: GateWatch | None = None
) -> AsyncIterator[Dependencies]:
    """Everything, closed again at the end. Opens no connection yet: each is made at first use."""
    if settings.database_url is None:
        raise UsageError(
            "no_database",
            "No database: set DATABASE_URL, or start the embedded stack with `fascicle up`.",
        )
    engine = open_engine(settings.database_url.get_secret_value(), pool_size=settings.database_pool)
    guard = HostGuard(settings.allow_hosts)
    gates = Gates(engine, gate_watch)
    http = _http_client(settings, gates, archive_gate(settings))
    services = _services_client(settings, gates)
    notifier = Notifier(guard, concurrency=settings.max_concurrent_deliveries)
    vault, oauth = build_vault(settings), _oauth(settings, http)
    reader = FanFicFare(settings.fic_processes)
    feed_reader = FeedReader(settings.feed_processes, max_entries=settings.feed_max_entries)
    pages = _pages(settings, http)
    articles = build_articles(settings, http, services)
    tokens = Tokens(engine, vault, oauth, renewals_at_once=min(4, max(1, settings.database_pool // 2)))
    try:
        sites = build_sites(settings, http)
        deviantart = DeviantArt(http, base_url=settings.deviantart_url)
        objects = open_object_store(object_store_options(settings))
        ao3 = Ao3(http, base_url=settings.ao3_url, policy=settings.ao3_gate)
        other_fics = OtherFicSites(http, reader, bases=settings.fic_bases, policy=settings.fic_gate)
        yield Dependencies(
            settings,
            engine,
            http,
            sites,
            notifier,
            clock,
            vault,
            oauth,
            tokens,
            deviantart,
            objects,
            ao3,
            other_fics,
            Discord(http, base_url=settings.discord_url, bot_token=settings.discord_bot_token),
            Feeds(http, feed_reader, gate=settings.feed_gate, youtube=settings.youtube_url),
            pages,
            articles,
            _language_model(settings, services),
        )
    finally:
        await reader.close()
        await feed_reader.close()
        await pages.close()
        await articles.close()
        notifier.close()
        await tokens.aclose()
        await http.aclose()
        await services.aclose()
        await engine.dispose()


@asynccontextmanager
async def standalone_http(settings: Settings) -> AsyncIterator[HttpClient]:
    """The HTTP client for a command that has no database: its gates last as long as it does, so that the
    archive, whose gate is that of the whole installation, is none of its business."""
    http = _http_client(settings, LocalGates(), _no_archive)
    try:
        yield http
    finally:
        await http.aclose()


@asynccontextmanager
async def standalone_articles(settings: Settings) -> AsyncIterator[Articles]:
    """The same for a command that reads an article."""
    async with standalone_http(settings) as http:
        services = _services_client(settings, LocalGates())
        try:
            async with build_articles(settings, http, services) as articles:
                yield articles
        finally:
            await services.aclose()


def archive_gate(settings: Settings) -> HouseGate:
    """Whoever asks AO3, for a feed or for the page behind an item, goes through the gate of its fics."""
    base = settings.ao3_url
    public, own = Gated(AO3_GATE, settings.archive_gate), Gated(AO3_GATE, settings.ao3_gate)

    def gate_of(url: str) -> Gated | None:
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


def _services_client(settings: Settings, gates: GateBook) -> HttpClient:
    """For the model and Firecrawl: where the operator says they are, they may be. Pages of strangers may not,
    so these hosts are open to no other client."""
    own = [urlsplit(url).netloc for url in (settings.llm_url, settings.firecrawl_url) if url]
    return _http_client(settings, gates, _no_archive, allow_hosts=[*settings.allow_hosts, *own])


def _http_client(
    settings: Settings, gates: GateBook, house_gate: HouseGate, *, allow_hosts: Sequence[str] | None = None
) -> HttpClient:
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


def _pages(settings: Settings, http: HttpClient) -> Pages:
    return Pages(
        http,
        gate=settings.page_gate,
        youtube=settings.youtube_url,
        spotify=settings.spotify_url,
        soundcloud=settings.soundcloud_url,
        processes=settings.feed_processes,
    )


def build_articles(settings: Settings, http: HttpClient, services: HttpClient) -> Articles:
    return Articles(
        http,
        gate=settings.article_gate,
        processes=settings.article_processes,
        min_words=settings.article_min_words,
        firecrawl=_firecrawl(settings, http, services),
    )


def _firecrawl(settings: Settings, http: HttpClient, services: HttpClient) -> Firecrawl | None:
    if settings.firecrawl_url is None and settings.firecrawl_api_key is None:
        return None
    return Firecrawl(
        services,
        pages=http,
        base_url=settings.firecrawl_url or FIRECRAWL_CLOUD,
        api_key=settings.firecrawl_api_key,
        timeout_seconds=settings.firecrawl_timeout_seconds,
    )


def _language_model(settings: Settings, http: HttpClient) -> LanguageModel | None:
    if settings.llm_url is None and settings.llm_api_key is None:
        return None
    return LanguageModel(
        http,
        base_url=settings.llm_url or OPENROUTER,
        api_key=settings.llm_api_key,
        policy=GatePolicy(settings.llm_interval_seconds),
        timeout_seconds=settings.llm_timeout_seconds,
    )


def build_vault(settings: Settings) -> Vault:
    return Vault(
        keys=settings.token_keys.get_secret_value() if settings.token_keys else None,
        file=settings.token_keys_file,
        made_file=settings.data_dir.expanduser() / "token-keys",
    )


def _oauth(settings: Settings, http: HttpClient) -> DeviantArtOAuth:
    secret = settings.deviantart_client_secret
    return DeviantArtOAuth(
        http,
        base_url=settings.deviantart_url,
        client_id=settings.deviantart_client_id,
        client_secret=secret.get_secret_value() if secret else None,
        policy=settings.account_gate,
    )


def object_store_options(settings: Settings) -> ObjectStoreOptions:
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


def surroundings(settings: Settings) -> Surroundings:
    return Surroundings(settings.site_variables, HostGuard(settings.allow_hosts))


def build_sites(settings: Settings, http: HttpClient) -> Sites:
    """The sites that are programmed, and those that files describe; broken files are noted, not fatal."""
    programmed: list[ChapterSite] = [
        MangaDex(http, base_url=settings.mangadex_url, interval_seconds=settings.mangadex_interval_seconds),
        MangaPlus(
            http, base_url=settings.mangaplus_url, interval_seconds=settings.mangaplus_interval_seconds
        ),
        WeebCentral(
            http, base_url=settings.weebcentral_url, interval_seconds=settings.weebcentral_interval_seconds
        ),
    ]
    taken = [site.name for site in programmed]
    described, broken = load_folder(http, settings.sites_dir, surroundings(settings), taken=taken)
    return Sites([*programmed, *described], broken)
