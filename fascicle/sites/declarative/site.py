"""A site that is defined by its description."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from fascicle.domain.errors import PermanentError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.series.chapter import LatestEntry, LatestPage, ListingPage, SeriesInfo, Upload
from fascicle.net.answers import Answer
from fascicle.net.http import Gated, HttpClient
from fascicle.sandbox import Reading, Sandbox
from fascicle.sites.declarative.description import ChapterList, LatestList, SiteDescription
from fascicle.sites.declarative.page_read import PageRead, broken
from fascicle.sites.declarative.position import Position

T = TypeVar("T")
_LONGEST_KEY = 200


class DeclarativeSite:
    def __init__(
        self,
        http: HttpClient,
        sandbox: Sandbox,
        about: SiteDescription,
        *,
        file: Path,
        base_url: str,
        interval_seconds: float,
    ) -> None:
        self.name = about.name
        self.file = file
        self.gate = Gated(about.name, GatePolicy(floor=interval_seconds, ceiling=max(10.0, interval_seconds)))
        self._http = http
        self._sandbox = sandbox
        self.about = about
        # The form for the parsing process.
        self._described = about.model_dump_json(by_alias=True, exclude_none=True)
        self._base = base_url

    def recognise(self, url: str) -> str | None:
        parts = urlsplit(url.strip())
        public, own = urlsplit(self.about.base_url), urlsplit(self._base)
        host, path = (parts.hostname or "").removeprefix("www."), parts.path
        if parts.netloc == own.netloc and path.startswith(own.path):
            host = (public.hostname or "").removeprefix("www.")
            path = public.path + path.removeprefix(own.path)
        plain = f"{host}{path.rstrip('/')}"
        for pattern in self.about.match:
            match = re.fullmatch(pattern, f"{plain}?{parts.query}") or re.fullmatch(pattern, plain)
            key = unquote(match["key"] or "") if match else ""
            if _is_key(key):
                return key
        return None

    async def series(self, key: str) -> SeriesInfo:
        page = self.about.series
        answer = await self._http.get(self._url(page.url, key), self.gate)
        title = await self._sandbox.read(
            Reading.ADAPTER_SERIES,
            answer.body,
            str,
            place=answer.url,
            about=self._described,
            url=answer.url,
            status=answer.status,
        )
        if not title:
            raise broken(str(self.file), f"series.title ({page.title}) gave nothing at {answer.place}")
        public = _filled(page.page or page.url, key)
        return SeriesInfo(
            site_key=key,
            title=title,
            url=public if public.startswith("http") else self.about.base_url + public,
            numbering_restarts=self.about.numbering_restarts,
        )

    async def newest(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        if self.about.list.order == "oldest_first":
            return await self._whole_list_reversed(key, languages)
        while True:
            page = self._listed(await self.read_list(key, cursor), languages)
            # A page with only other languages may be followed by one with ours.
            if page.uploads or page.next_cursor is None:
                return page
            cursor = page.next_cursor

    async def everything(self, key: str, languages: Sequence[str], cursor: str | None) -> ListingPage:
        """Oldest first if the file has an address for that; else pages may overlap, which storing allows."""
        return self._listed(await self.read_list(key, cursor, oldest_first=True), languages)

    async def read_list(
        self, key: str, cursor: str | None, *, oldest_first: bool = False
    ) -> PageRead[Upload]:
        """A page of the chapter list, with the rows that could not be used."""
        section = self.about.list
        template = section.oldest_first_url if oldest_first and section.oldest_first_url else section.url
        answer = await self._fetch("list", section, self._url(template, key), cursor)
        return await self._rows(
            Reading.ADAPTER_CHAPTERS, answer, PageRead[Upload], base=self._base, cursor=cursor
        )

    async def _rows(self, reading: Reading, answer: Answer, result: type[T], **request: Any) -> T:
        return await self._sandbox.read(
            reading,
            answer.body,
            result,
            place=answer.url,
            about=self._described,
            file=str(self.file),
            url=answer.url,
            status=answer.status,
            **request,
        )

    async def _whole_list_reversed(self, key: str, languages: Sequence[str]) -> ListingPage:
        """The newest chapters are on the last page, so all are read."""
        uploads: list[Upload] = []
        rows, cursor = 0, None
        while True:
            page = self._listed(await self.read_list(key, cursor), languages)
            uploads += page.uploads
            rows += page.rows
            cursor = page.next_cursor
            if cursor is None:
                return ListingPage(uploads[::-1], rows, max(rows, page.total), None, page.partial)

    def _listed(self, page: PageRead[Upload], languages: Sequence[str]) -> ListingPage:
        """Filter by language only if the file reads the chapters' language; else the list would be empty."""
        uploads: Sequence[Upload] = page.entries
        if languages and self.about.list.fields.language:
            uploads = [u for u in uploads if u.language is None or u.language in languages]
        total = page.rows if page.total is None else page.total
        # Without a total to compare with, a missing link to the next page must not make chapters vanish.
        is_doubtful = page.doubtful_end and page.total is None
        return ListingPage(
            uploads, page.rows, total, page.next_cursor, partial=is_doubtful or not self.about.complete
        )

    async def _fetch(
        self, part: str, section: ChapterList | LatestList, template: str, cursor: str | None
    ) -> Answer:
        position = Position.of(cursor)
        if section.paging and position.turn > section.paging.max_pages:
            raise PermanentError(
                "endless_list",
                f"{self.name}: the list at {template} has more than {section.paging.max_pages} pages. "
                f"If it is that long, raise {part}.paging.max_pages in {self.file}.",
            )
        return await self._http.get(position.url(template, section.paging), self.gate)

    def _url(self, template: str, key: str) -> str:
        filled = _filled(template, key)
        return filled if filled.startswith("http") else self._base + filled


class SweepableDeclarativeSite(DeclarativeSite):
    """A site whose file describes its list of everything new (C16)."""

    async def latest(self, languages: Sequence[str], cursor: str | None) -> LatestPage:
        section = self.about.latest
        assert section is not None
        answer = await self._fetch("latest", section, self._url(section.url, ""), cursor)
        page = await self._rows(Reading.ADAPTER_LATEST, answer, PageRead[LatestEntry], cursor=cursor)
        # This list may go back years; only its beginning is needed.
        is_last = section.paging is not None and Position.of(cursor).turn >= section.paging.max_pages
        return LatestPage(page.entries, None if is_last else page.next_cursor, len(page.entries))


def site_of(
    http: HttpClient,
    sandbox: Sandbox,
    about: SiteDescription,
    *,
    file: Path,
    base_url: str,
    interval_seconds: float,
) -> DeclarativeSite:
    kind = DeclarativeSite if about.latest is None else SweepableDeclarativeSite
    return kind(http, sandbox, about, file=file, base_url=base_url, interval_seconds=interval_seconds)


def _filled(template: str, key: str) -> str:
    return template.replace("{key}", quote(key, safe=""))


def _is_key(text: str) -> bool:
    return text not in ("", ".", "..") and len(text) <= _LONGEST_KEY and text.isprintable()
