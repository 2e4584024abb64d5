"""oEmbed: three services that are asked instead of their pages, and the reading of their answers."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from fascicle.domain.errors import RetryableError
from fascicle.domain.feeds.item_page import OEmbed
from fascicle.domain.urls import place
from fascicle.sites.pages import values

_LONGEST_ANSWER = 200_000
_YOUTUBE_HOSTS = (
    "www.youtube.com",
    "youtube.com",
    "m.youtube.com",
    "music.youtube.com",
    "www.youtube-nocookie.com",
)
_YOUTUBE_PATHS = re.compile(r"/(watch|playlist|(shorts|live|embed|v)/[\w-]+/?)", re.ASCII)
_SPOTIFY_PATHS = re.compile(r"/(intl-[a-z-]+/)?(track|album|playlist|artist|show|episode)/[A-Za-z0-9]+/?")
# A user's sound or set; a path of one segment is the user.
_SOUNDCLOUD_PATHS = re.compile(r"/[\w-]+/(sets/)?[\w-]+/?", re.ASCII)


@dataclass(frozen=True)
class Service:
    """A service: its own hosts, and the base address that we ask."""

    name: str
    base: str
    hosts: tuple[str, ...]
    paths: re.Pattern[str]
    short_hosts: tuple[str, ...] = ()
    """Hosts on which every address can be embedded."""

    def path_of(self, url: str) -> str | None:
        """The path of an address of the service; None: it is not the service's."""
        if url.startswith(f"{self.base}/"):
            return urlsplit(url).path.removeprefix(urlsplit(self.base).path)
        parts = urlsplit(url)
        return parts.path if parts.hostname in self.hosts else None

    def embeds(self, url: str) -> bool:
        if urlsplit(url).hostname in self.short_hosts:
            return True
        path = self.path_of(url)
        return path is not None and self.paths.fullmatch(path) is not None

    def rebased(self, url: str) -> str:
        """The same address below our base address (a simulator, a mirror)."""
        path, query = self.path_of(url), urlsplit(url).query
        if path is None or url.startswith(f"{self.base}/"):
            return url
        return f"{self.base}{path}" + (f"?{query}" if query else "")


def services(*, youtube: str, spotify: str, soundcloud: str) -> tuple[Service, ...]:
    return (
        Service("youtube", youtube, _YOUTUBE_HOSTS, _YOUTUBE_PATHS, ("youtu.be",)),
        Service("spotify", spotify, ("open.spotify.com",), _SPOTIFY_PATHS),
        Service(
            "soundcloud",
            soundcloud,
            ("soundcloud.com", "www.soundcloud.com", "m.soundcloud.com"),
            _SOUNDCLOUD_PATHS,
        ),
    )


def service_of(url: str, known: tuple[Service, ...]) -> Service | None:
    """The service that can be asked about the address."""
    try:
        return next((service for service in known if service.embeds(url)), None)
    except ValueError:  # no address at all
        return None


def oembed_address(url: str, *, youtube: str, spotify: str, soundcloud: str) -> str | None:
    """The oEmbed address for an address of one of the three services; None for any other."""
    service = service_of(url, services(youtube=youtube, spotify=spotify, soundcloud=soundcloud))
    return None if service is None else asking(service, url)


def asking(service: Service, url: str) -> str:
    return f"{service.base}/oembed?{urlencode({'format': 'json', 'url': url})}"


def parse_oembed(body: bytes, *, url: str) -> OEmbed:
    """The fields to keep. The answer's HTML is dropped, because other people's markup is not stored."""
    said = _object(body, url)
    return OEmbed(
        type=values.line(said.get("type"), longest=40),
        title=values.line(said.get("title")),
        author=values.line(said.get("author_name")),
        site_name=values.line(said.get("provider_name")),
        image_url=values.address(said.get("thumbnail_url"), url),
        duration_seconds=values.duration(said.get("duration")),
    )


def _object(body: bytes, url: str) -> dict[str, Any]:
    try:
        said = orjson.loads(body) if len(body) <= _LONGEST_ANSWER else None
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        raise RetryableError("bad_answer", f"{place(url)} answered what is no oEmbed.")
    return said
