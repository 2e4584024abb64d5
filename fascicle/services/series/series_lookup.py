"""Looks up series on sites while a person waits: respects gates, retries, and makes few requests."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.series.chapter import SeriesInfo, SeriesMatch
from fascicle.imports.matching import choose
from fascicle.imports.wanted import Wanted
from fascicle.sites.base import ChapterSite, SearchableSite

T = TypeVar("T")

_ATTEMPTS = 3
_LONGEST_WAIT = 3600.0
# A second title of an AniList entry often finds the series; more than two are not worth the requests.
_SEARCHES = 2


class Asking:
    """`on_wait` is called with the site and the seconds of each wait."""

    def __init__(self, retry_seconds: float, on_wait: Callable[[str, float], None]) -> None:
        self._retry_seconds = retry_seconds
        self._on_wait = on_wait

    async def infos(self, site: ChapterSite, keys: Sequence[str]) -> dict[str, SeriesInfo | FascicleError]:
        """The site's facts about each series, or the error."""
        if not isinstance(site, SearchableSite):
            return {key: await self._info(site, key) for key in keys}
        if not keys:
            return {}
        missing: FascicleError = PermanentError("not_found", f"{site.name} has no such series (any more).")
        try:
            listed = await self._patiently(site.name, lambda: site.many(keys))
        except FascicleError as error:
            raise_if_ours(error)
            missing, listed = error, []
        return {**dict.fromkeys(keys, missing), **{info.site_key: info for info in listed}}

    async def match(
        self, site: SearchableSite, wanted: Wanted
    ) -> tuple[SeriesInfo | None, list[SeriesMatch]]:
        """The matching series, if it is certain, and all matches."""
        found: list[SeriesMatch] = []
        for title in wanted.titles[:_SEARCHES]:
            found += await self._search(site, title)
            if chosen := choose(wanted, found):
                return chosen.info, found
        return None, found

    async def _info(self, site: ChapterSite, key: str) -> SeriesInfo | FascicleError:
        try:
            return await self._patiently(site.name, lambda: site.series(key))
        except FascicleError as error:
            raise_if_ours(error)
            return error

    async def _search(self, site: SearchableSite, title: str) -> list[SeriesMatch]:
        return await self._patiently(site.name, lambda: site.search(title))

    async def _patiently(self, site: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Sleep through waits, and retry after temporary failures."""
        failures = 0
        while True:
            try:
                return await ask()
            except MustWait as wait:
                if wait.seconds > _LONGEST_WAIT:
                    raise
                self._on_wait(site, wait.seconds)
                await asyncio.sleep(wait.seconds)
            except RetryableError as error:
                raise_if_ours(error)
                failures += 1
                if failures == _ATTEMPTS:
                    raise
                await asyncio.sleep(self._retry_seconds * failures)


def raise_if_ours(error: FascicleError) -> None:
    """Raises if the database is down. A site's error only concerns its row, and is reported with it."""
    if error.code == "database_down":
        raise error
