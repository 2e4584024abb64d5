"""What every chapter site offers, and the list of them."""

import ipaddress
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fascicle.domain.chapter import LatestPage, ListingPage, SeriesInfo, SeriesMatch
from fascicle.domain.errors import UsageError
from fascicle.domain.urls import parse_http_url


class ChapterSite(Protocol):
    @property
    def name(self) -> str: ...

    def recognise(self, url: str) -> str | None:
        """The site's own key of the series behind this URL, or None when the URL is not this site's."""
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
    """A site that lists what is new for everyone (C16)."""

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        """A page of the newest uploads of all series; `cursor` None is the top."""
        ...


@runtime_checkable
class SearchableSite(Protocol):
    """A site that finds series by title, and tells about many at once (C14)."""

    @property
    def name(self) -> str: ...

    async def search(self, title: str) -> list[SeriesMatch]:
        """Series called like this, the likeliest first."""
        ...

    async def many(self, keys: Sequence[str]) -> list[SeriesInfo]:
        """Those of the series that exist, in a request per hundred."""
        ...


# Sites people still have links to; saying so beats "unknown site".
_CLOSED = {"mangapark": "MangaPark closed in January 2026, with its whole network."}


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost"))


class Sites:
    def __init__(self, sites: Sequence[ChapterSite]) -> None:
        self._sites = {site.name: site for site in sites}

    def named(self, name: str) -> ChapterSite:
        if name not in self._sites:
            raise UsageError("unknown_site", f"No site is called {name!r}. Known: {', '.join(self.names)}.")
        return self._sites[name]

    def sweepable(self, name: str) -> SweepableSite | None:
        """The site if it has a list of what is new for everyone."""
        site = self._sites.get(name)
        return site if isinstance(site, SweepableSite) else None

    def recognise(self, url: str) -> tuple[ChapterSite, str]:
        """The site a URL belongs to and the series' key there."""
        host = parse_http_url(url).hostname or ""
        for site in self._sites.values():
            if key := site.recognise(url):
                return site, key
        for name, fact in _CLOSED.items():
            if name in host:
                raise UsageError("site_closed", fact)
        if _is_private(host):
            raise UsageError("blocked_address", f"{host} is a private address; Fascicle does not go there.")
        raise UsageError(
            "unknown_site", f"No known site has series at {url}. Known: {', '.join(self.names)}."
        )

    @property
    def names(self) -> list[str]:
        return sorted(self._sites)
