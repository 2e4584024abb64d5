"""oEmbed: three services that are asked instead of their pages, and what any such answer says."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from fascicle.domain.errors import RetryableError
from fascicle.domain.item_page import OEmbed
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
# Somebody's sound or set; one segment is a person.
_SOUNDCLOUD_PATHS = re.compile(r"/[\w-]+/(sets/)?[\w-]+/?", re.ASCII)


@dataclass(frozen=True)
class Service:
    """A service at its own address, and at the one it is asked at."""

    name: str
    base: str
    hosts: tuple[str, ...]
    paths: re.Pattern[str]
    short_hosts: tuple[str, ...] = ()
    """Whose every address is something to embed."""

    def path_of(self, url: str) -> str | None:
        """The path of an address of the service; None: it is another's."""
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
        """The address where the service is asked (a simulator, a mirror of one's own)."""
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
    """The service that can be asked about what is at the address."""
    try:
        return next((service for service in known if service.embeds(url)), None)
    except ValueError:  # no address at all
        return None


def oembed_address(url: str, *, youtube: str, spotify: str, soundcloud: str) -> str | None:
    """Where one of the three is asked about an address of its own; None for any other."""
    service = service_of(url, services(youtube=youtube, spotify=spotify, soundcloud=soundcloud))
    return None if service is None else asking(service, url)


def asking(service: Service, url: str) -> str:
    return f"{service.base}/oembed?{urlencode({'format': 'json', 'url': url})}"


def parse_oembed(body: bytes, *, url: str) -> OEmbed:
    """The parts worth keeping. The HTML it offers is not: nobody else's markup is stored."""
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
