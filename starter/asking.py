"""Asking sites about series while a person waits: politely, patiently, and with few requests."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from fascicle.domain.chapter import SeriesInfo, SeriesMatch
from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.imports.matching import choose
from fascicle.imports.wanted import Wanted
from fascicle.sites.base import ChapterSite, SearchableSite

T = TypeVar("T")

_ATTEMPTS = 3
_LONGEST_WAIT = 3600.0
# One title of an AniList entry often finds what another does not; more than two are not worth the requests.
_SEARCHES = 2


class Asking:
    """`on_wait` hears which site is waited for, and for how many seconds."""

    def __init__(self, retry_seconds: float, on_wait: Callable[[str, float], None]) -> None:
        self._retry_seconds = retry_seconds
        self._on_wait = on_wait

    async def infos(self, site: ChapterSite, keys: Sequence[str]) -> dict[str, SeriesInfo | FascicleError]:
        """What the site says of each series, or why it does not."""
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
        """The series that is meant, if that is certain, and all that was found."""
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
        """Waits are sat out, passing failures are tried again."""
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
    """A site's error is told with its row; without the database nothing can be."""
    if error.code == "database_down":
        raise error
