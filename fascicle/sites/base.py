"""The interface of a chapter site, and the list of all sites."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.series.chapter import LatestPage, ListingPage, SeriesInfo, SeriesMatch
from fascicle.domain.urls import parse_http_url
from fascicle.net.http import Gated


class ChapterSite(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def gate(self) -> Gated: ...

    def recognise(self, url: str) -> str | None:
        """The site's own key of the series at this URL, or None if the URL is not this site's."""
        ...

    async def series(self, key: str) -> SeriesInfo: ...

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        """A page of uploads, newest first."""
        ...

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        """A page of the whole list, in an order to which new uploads are only appended."""
        ...


@runtime_checkable
class SweepableSite(Protocol):
    """A site with a list of everything new (C16)."""

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        """A page of the newest uploads of all series; `cursor` None is the top."""
        ...


@runtime_checkable
class SearchableSite(Protocol):
    """A site that finds series by title, and returns many series by one request (C14)."""

    @property
    def name(self) -> str: ...

    async def search(self, title: str) -> list[SeriesMatch]:
        """Series with a similar title, the most likely first."""
        ...

    async def many(self, keys: Sequence[str]) -> list[SeriesInfo]:
        """The series that exist among these keys; one request per hundred."""
        ...


# Closed sites that people still have links to: a better message than "unknown site".
_CLOSED = {
    "MangaPark closed in January 2026, with its whole network.": (
        "mangapark.com", "mangapark.net", "mangapark.org", "mangapark.me", "mangapark.io", "mangapark.to",
        "comicpark.org", "comicpark.to", "readpark.org", "readpark.net", "parkmanga.com", "parkmanga.net",
        "parkmanga.org", "mpark.to",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class BrokenAdapter:
    """An adapter file that cannot be used: its site's name, as far as known, and the error."""

    name: str
    file: Path
    error: str


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


class Sites:
    def __init__(self, sites: Sequence[ChapterSite], broken: Sequence[BrokenAdapter] = ()) -> None:
        self._sites = {site.name: site for site in sites}
        self.broken = broken

    def __iter__(self) -> Iterator[ChapterSite]:
        return iter(self._sites[name] for name in self.names)

    def named(self, name: str) -> ChapterSite:
        if name in self._sites:
            return self._sites[name]
        if broken := next((b for b in self.broken if b.name == name), None):
            raise PermanentError("adapter_broken", broken.error)
        raise UsageError("unknown_site", f"No site is called {name!r}. Known: {', '.join(self.names)}.")

    def sweepable(self, name: str) -> SweepableSite | None:
        """The site if it has a list of everything new."""
        site = self._sites.get(name)
        return site if isinstance(site, SweepableSite) else None

    def recognise(self, url: str) -> tuple[ChapterSite, str]:
        """The site a URL belongs to and the series' key there."""
        host = parse_http_url(url).hostname or ""
        for site in self._sites.values():
            if key := site.recognise(url):
                return site, key
        for fact, domains in _CLOSED.items():
            if host.endswith(tuple(f".{domain}" for domain in domains)) or host in domains:
                raise UsageError("site_closed", fact)
        if _is_private(host):
            raise UsageError("blocked_address", f"{host} is a private address; Fascicle does not go there.")
        message = f"No known site has series at {url}. Known: {', '.join(self.names)}."
        if self.broken:
            names = ", ".join(sorted(adapter.name for adapter in self.broken))
            message += f" Broken: {names}; see `fascicle site list`."
        raise UsageError("unknown_site", message)

    @property
    def names(self) -> list[str]:
        return sorted(self._sites)
