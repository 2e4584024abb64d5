"""Fetches feeds, and finds the feed for any address that a person gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.feeds.feed import Entry, FeedLink, ParsedFeed
from fascicle.domain.gate import GatePolicy
from fascicle.net.http import Gated, HttpClient
from fascicle.sites.feeds.caching import patience_seconds
from fascicle.sites.feeds.reader import FeedReader
from fascicle.sites.feeds.youtube import youtube_feed, youtube_page

# So many of the feeds that a page links to are tried.
_MOST_LINKS = 3
# For feeds these are permanent errors: a site that bans us will refuse the next look too.
_BANS = ("blocked", "challenge")
# The usual paths of a feed.
_PLACES = ("feed", "rss.xml", "atom.xml", "index.xml")


@dataclass(frozen=True)
class Fetched:
    """A site's answer about a feed."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes
    moved_to: str | None

    @property
    def not_modified(self) -> bool:
        return self.status == 304

    @property
    def content_type(self) -> str | None:
        return self.headers.get("content-type")

    @property
    def etag(self) -> str | None:
        return self.headers.get("etag")

    @property
    def last_modified(self) -> str | None:
        return self.headers.get("last-modified")

    def patience(self, ttl_seconds: int | None = None) -> int | None:
        """How long the site wants us to wait before the next look."""
        return patience_seconds(self.headers, ttl_seconds, now=datetime.now(UTC))


@dataclass(frozen=True)
class Found:
    """A feed, and the address to fetch it at from now on."""

    address: str
    fetched: Fetched
    parsed: ParsedFeed


class Feeds:
    def __init__(self, http: HttpClient, reader: FeedReader, *, gate: GatePolicy, youtube: str) -> None:
        self._http = http
        self._reader = reader
        self._gate = gate
        self._youtube = youtube

    def host_of(self, url: str) -> str:
        return urlsplit(url).hostname or ""

    def address_of(self, url: str) -> str:
        """The feed's address if it is known without a request, as for a YouTube channel; else `url`."""
        return youtube_feed(url, self._youtube) or url

    async def fetch(self, url: str, *, etag: str | None = None, last_modified: str | None = None) -> Fetched:
        try:
            answer = await self._http.get(url, self._gated, etag=etag, last_modified=last_modified)
        except MustWait as wait:
            if wait.code in _BANS:
                raise PermanentError(wait.code, wait.message, http_status=wait.http_status) from wait
            raise
        except PermanentError as error:
            # All of YouTube's feeds are missing for hours at times.
            if error.code == "not_found" and self._is_youtube(url):
                raise RetryableError("unavailable", error.message, http_status=error.http_status) from error
            raise
        return Fetched(answer.status, answer.url, answer.headers, answer.body, answer.moved_to)

    async def read(self, fetched: Fetched) -> ParsedFeed:
        return await self.read_document(fetched.body, url=fetched.url, content_type=fetched.content_type)

    async def read_document(self, body: bytes, *, url: str, content_type: str | None) -> ParsedFeed:
        return await self._reader.read(body, url=url, content_type=content_type)

    async def harmless(self, entry: Entry) -> Entry:
        """An unsanitised entry from a dead letter, with harmless HTML."""
        return await self._reader.harmless(entry)

    async def find(self, url: str) -> Found:
        """The feed at an address, or the feed that the page there links to."""
        address = self.address_of(url)
        page = youtube_page(address, self._youtube)
        if page is not None:
            address = await self._channel_behind(page)
        fetched = await self.fetch(address)
        try:
            return Found(address, fetched, await self.read(fetched))
        except PermanentError as error:
            if error.code != "not_a_feed":
                raise
            return await self._find_in_page(fetched, error)

    async def _channel_behind(self, page: str) -> str:
        fetched = await self.fetch(page)
        channels = await self._reader.channels(fetched.body, url=fetched.url)
        address = channels and youtube_feed(f"{self._youtube}/channel/{channels[0]}", self._youtube)
        if not address:
            raise PermanentError(
                "no_feed", f"{page} names no channel. Give the channel's address (youtube.com/channel/UC…)."
            )
        return address

    async def _find_in_page(self, page: Fetched, why: PermanentError) -> Found:
        links = (await self._reader.links(page.body, url=page.url))[:_MOST_LINKS]
        candidates = links or [FeedLink(url=guess) for guess in guesses(page.url)]
        for link in candidates:
            if link.url == page.url:
                continue
            try:
                fetched = await self.fetch(link.url)
                return Found(link.url, fetched, await self.read(fetched))
            except (MustWait, RetryableError):
                if links:
                    raise
            except FascicleError:
                continue
        raise PermanentError("no_feed", f"{why.message} No feed was found through it either.")

    def _gated(self, url: str) -> Gated:
        return Gated(f"feed:{self.host_of(url)}", self._gate)

    def _is_youtube(self, url: str) -> bool:
        return youtube_feed(url, self._youtube) is not None


def guesses(url: str) -> list[str]:
    """A few addresses to try if the page links to no feed."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return []
    return [f"{parts.scheme}://{parts.netloc}/{place}" for place in _PLACES]
