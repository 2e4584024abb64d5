"""Importing the series of a file (C14): few requests, each row settled on its own, nothing guessed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from temporalio.client import Client

from fascicle.domain.errors import FascicleError, PermanentError, UsageError
from fascicle.domain.series.chapter import SeriesInfo, SeriesMatch
from fascicle.imports.matching import candidates, reason
from fascicle.imports.reading import ImportFile
from fascicle.imports.wanted import Wanted
from fascicle.services.dependencies import Dependencies
from fascicle.services.series.onboarding import add_known_series, ensure_workflow
from fascicle.services.series.series_lookup import Asking, raise_if_ours
from fascicle.sites.base import ChapterSite, SearchableSite
from fascicle.storage.database import transaction
from fascicle.storage.series import imports as entries
from fascicle.storage.series.imports import KnownSource

Item = TypeVar("Item")

# Look up a whole batch before adding any of it: first syncs would delay the next lookup at the site's gate.
BATCH = 500
_AT_ONCE = 10
_CANDIDATES = 5


class Display(Protocol):
    """Shows the progress to a person."""

    def start(self, total: int, finished: int) -> None: ...
    def settled(self) -> None: ...
    def waiting(self, site: str, seconds: float) -> None: ...


@dataclass
class Report:
    """The outcome of the rows. `present` includes those of an earlier run."""

    rows: int
    added: int = 0
    present: int = 0
    doubtful: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    position: int
    wanted: Wanted


class Importer:
    def __init__(
        self,
        dependencies: Dependencies,
        client: Client,
        file: ImportFile,
        display: Display,
        *,
        user_id: str | None = None,
        languages: list[str] | None = None,
    ) -> None:
        self._dependencies = dependencies
        self._client = client
        self._file = file
        self._display = display
        self._user_id = user_id
        self._languages = languages
        self._fingerprint = f"{file.digest}:{user_id or ''}"
        self._report = Report(len(file.wanted))
        self._asking = Asking(dependencies.settings.retry_base_seconds, display.waiting)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> Report:
        """Safe to interrupt at any moment, and to repeat."""
        rows = await self._unfinished()
        by_site, by_title = await self._sorted_by_way(rows)
        for name, keyed in by_site.items():
            site = self._dependencies.sites.named(name)
            size = BATCH if isinstance(site, SearchableSite) else _AT_ONCE
            for start in range(0, len(keyed), size):
                await self._add_by_key(site, keyed[start : start + size])
        await self._each(self._add_by_title, by_title)
        self._report.doubtful.sort(key=lambda row: row["position"])
        self._report.failed.sort(key=lambda row: row["position"])
        return self._report

    async def _unfinished(self) -> list[Row]:
        listed = [(wanted.title, wanted.url) for wanted in self._file.wanted]
        async with transaction(self._dependencies.engine) as connection:
            finished = await entries.begin(connection, self._fingerprint, listed)
        self._report.present += len(finished)
        self._display.start(len(listed), len(finished))
        rows = map(Row, range(len(listed)), self._file.wanted)
        return [row for row in rows if row.position not in finished]

    async def _sorted_by_way(self, rows: Iterable[Row]) -> tuple[dict[str, list[tuple[Row, str]]], list[Row]]:
        """Rows whose address names a series of a known site, by site; and rows to search by title."""
        by_site: dict[str, list[tuple[Row, str]]] = {}
        by_title: list[Row] = []
        for row in rows:
            try:
                place = self._place(row.wanted)
            except UsageError as error:
                await self._fail(row, error)
                continue
            if place is None:
                by_title.append(row)
            else:
                by_site.setdefault(place[0], []).append((row, place[1]))
        return by_site, by_title

    def _place(self, wanted: Wanted) -> tuple[str, str] | None:
        """The site and key of an address; None if the row must be searched by title."""
        if wanted.url is None:
            return None
        try:
            site, key = self._dependencies.sites.recognise(wanted.url)
        except UsageError as error:
            if wanted.title and error.code in ("unknown_site", "site_closed"):
                return None
            raise
        return site.name, key

    async def _add_by_key(self, site: ChapterSite, keyed: Sequence[tuple[Row, str]]) -> None:
        known = await self._known(site.name, [key for _, key in keyed])
        unknown = list(dict.fromkeys(key for _, key in keyed if key not in known or known[key].removed))
        infos = await self._asking.infos(site, unknown)

        async def add(pair: tuple[Row, str]) -> None:
            row, key = pair
            info = infos.get(key)
            if isinstance(info, FascicleError):
                await self._fail(row, info)
            else:
                await self._adopt(row, site.name, info, known.get(key))

        await self._each(add, keyed)

    async def _add_by_title(self, row: Row) -> None:
        site = self._searchable()
        try:
            chosen, found = await self._asking.match(site, row.wanted)
        except FascicleError as error:
            raise_if_ours(error)
            await self._fail(row, error)
            return
        if chosen is None:
            await self._doubt(row, site.name, found)
            return
        known = await self._known(site.name, [chosen.site_key])
        await self._adopt(row, site.name, chosen, known.get(chosen.site_key))

    async def _adopt(self, row: Row, site: str, info: SeriesInfo | None, known: KnownSource | None) -> None:
        """Add the series as a source with a workflow, unless it is one, and let the user follow it."""
        if known is not None and not known.removed:
            await ensure_workflow(self._dependencies, self._client, known.source_id)
            await self._settle(row, "present", known)
            return
        assert info is not None, "a series that was not known was asked for"
        try:
            done = await add_known_series(
                self._dependencies,
                self._client,
                site,
                info,
                languages=self._languages,
                anew=known is not None,
            )
        except PermanentError as error:
            if error.code != "invalid_data":
                raise
            await self._fail(row, error)
            return
        source = KnownSource(done.source["id"], done.source["series_id"], info.numbering_restarts, False)
        await self._settle(row, "added" if done.created else "present", source)

    async def _settle(self, row: Row, state: entries.State, source: KnownSource) -> None:
        # A chapter number alone is ambiguous if numbering restarts in each volume.
        read = None if source.numbering_restarts else row.wanted.read
        async with transaction(self._dependencies.engine) as connection:
            if self._user_id:
                await entries.follow_from(connection, self._user_id, source.series_id, read)
            await entries.settle(
                connection, self._fingerprint, row.position, state, source_id=source.source_id
            )
        if state == "added":
            self._report.added += 1
        else:
            self._report.present += 1
        self._display.settled()

    async def _doubt(self, row: Row, site: str, found: Sequence[SeriesMatch]) -> None:
        likeliest = candidates(row.wanted, found)[:_CANDIDATES]
        listed = [{"title": match.info.title, "url": match.info.url} for match in likeliest]
        why = f"{site}: {reason(row.wanted, found)}"
        await self._leave(row, "doubtful", {"why": why, "candidates": listed})
        self._report.doubtful.append({**_told(row), "why": why, "candidates": listed})

    async def _fail(self, row: Row, error: FascicleError) -> None:
        await self._leave(row, "failed", {"why": error.message, "code": error.code})
        self._report.failed.append({**_told(row), "why": error.message, "code": error.code})

    async def _leave(self, row: Row, state: entries.State, detail: dict[str, Any]) -> None:
        async with transaction(self._dependencies.engine) as connection:
            await entries.settle(connection, self._fingerprint, row.position, state, detail=detail)
        self._display.settled()

    async def _known(self, site: str, keys: Sequence[str]) -> dict[str, KnownSource]:
        async with transaction(self._dependencies.engine) as connection:
            return await entries.known_sources(connection, site, keys)

    async def _each(self, work: Callable[[Item], Awaitable[None]], items: Iterable[Item]) -> None:
        """Run `work` for all items, a few at a time; an exception that it raises ends the import."""

        async def in_turn(item: Item) -> None:
            async with self._turns:
                await work(item)

        try:
            async with asyncio.TaskGroup() as group:
                for item in items:
                    group.create_task(in_turn(item))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def _searchable(self) -> SearchableSite:
        return next(site for site in self._dependencies.sites if isinstance(site, SearchableSite))


def _told(row: Row) -> dict[str, Any]:
    wanted = row.wanted
    return {
        "position": row.position,
        "title": wanted.title,
        "url": wanted.url,
        "read": wanted.read,
        "anilist_id": wanted.anilist_id,
        "mal_id": wanted.mal_id,
    }
