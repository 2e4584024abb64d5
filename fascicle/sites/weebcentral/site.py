"""WeebCentral, from its HTML, which a parsing process reads."""

from collections.abc import Sequence
from typing import Any, TypeVar

from fascicle.domain.series.chapter import LatestPage, ListingPage, SeriesInfo
from fascicle.net.http import HttpClient
from fascicle.sandbox import Reading, Sandbox
from fascicle.sites.addresses import path_on_site, site_gate
from fascicle.sites.weebcentral.addresses import PUBLIC_URL, SERIES_PATH

NAME = "weebcentral"
T = TypeVar("T")


class WeebCentral:
    name = NAME

    def __init__(self, http: HttpClient, sandbox: Sandbox, *, base_url: str, interval_seconds: float) -> None:
        self._http = http
        self._sandbox = sandbox
        self._base = base_url
        self.gate = site_gate(NAME, interval_seconds)

    def recognise(self, url: str) -> str | None:
        path = path_on_site(url, self._base, "weebcentral.com")
        match = SERIES_PATH.fullmatch(path or "")
        return match[1].upper() if match else None

    async def series(self, key: str) -> SeriesInfo:
        title = await self._read(Reading.WEEBCENTRAL_SERIES, f"/series/{key}", str)
        return SeriesInfo(site_key=key, title=title, url=f"{PUBLIC_URL}/series/{key}")

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        path = f"/series/{key}/full-chapter-list"
        return await self._read(Reading.WEEBCENTRAL_CHAPTERS, path, ListingPage)

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        return await self.newest(key, languages, cursor)

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        number = int(cursor or 1)
        path = f"/latest-updates/{number}"
        return await self._read(Reading.WEEBCENTRAL_LATEST, path, LatestPage, number=number)

    async def _read(self, reading: Reading, path: str, result: type[T], **request: Any) -> T:
        answer = await self._http.get(self._base + path, self.gate)
        return await self._sandbox.read(
            reading,
            answer.body,
            result,
            place=answer.url,
            where=answer.place,
            status=answer.status,
            **request,
        )
