"""Reads a page by an adapter file, in a parsing process: its title, or its rows and the next page."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from fascicle.domain.errors import PermanentError
from fascicle.domain.series.chapter import LatestEntry, Upload
from fascicle.sites import fields
from fascicle.sites.declarative.description import ChapterList, LatestList, SiteDescription
from fascicle.sites.declarative.document import Document, FetchedPage, Row, open_document, value
from fascicle.sites.declarative.page_read import PageRead, broken
from fascicle.sites.declarative.paging import check_is_new, following, is_certain_end
from fascicle.sites.declarative.position import Position
from fascicle.sites.declarative.rows import BadRowError, read_latest, read_upload

T = TypeVar("T", Upload, LatestEntry)


def read_title(body: bytes, *, about: str, url: str, status: int) -> str:
    """The series' title; empty if there is none."""
    page, fetched = _description(about).series, FetchedPage(url, status, body)
    return fields.text(value(open_document(fetched, is_json=page.title.is_json), page.title)) or ""


def read_chapters(
    body: bytes, *, about: str, file: str, base: str, url: str, status: int, cursor: str | None
) -> PageRead[Upload]:
    site, fetched = _description(about), FetchedPage(url, status, body)
    section = site.list

    def read(row: Row) -> Upload:
        return read_upload(
            row, section.fields, page=url, base=base, dates=section.dates, language=site.language
        )

    document = open_document(fetched, is_json=section.items.is_json)
    page: PageRead[Upload] = PageRead(total=_number(value(document, section.total)))
    return _read(_Part("list", section, file), document, fetched, cursor, read, page)


def read_latest_page(
    body: bytes, *, about: str, file: str, url: str, status: int, cursor: str | None
) -> PageRead[LatestEntry]:
    site, fetched = _description(about), FetchedPage(url, status, body)
    section = site.latest
    assert section is not None

    def read(row: Row) -> LatestEntry:
        return read_latest(row, section.fields, dates=section.dates, language=site.language)

    document = open_document(fetched, is_json=section.items.is_json)
    return _read(_Part("latest", section, file), document, fetched, cursor, read, PageRead())


class _Part:
    """A list in the adapter file, with its name there."""

    def __init__(self, name: str, section: ChapterList | LatestList, file: str) -> None:
        self.name = name
        self.section = section
        self.file = file

    def broken(self, what: str) -> PermanentError:
        return broken(self.file, what)


def _read(
    part: _Part,
    document: Document,
    fetched: FetchedPage,
    cursor: str | None,
    read: Callable[[Row], T],
    page: PageRead[T],
) -> PageRead[T]:
    _read_rows(part, _rows(part, document, fetched), fetched, read, page)
    position = check_is_new(Position.of(cursor), [entry.upload_id for entry in page.entries], fetched)
    paging = part.section.paging
    page.next_cursor = following(position, paging, document, page.rows, fetched)
    page.doubtful_end = page.next_cursor is None and not is_certain_end(paging, document)
    return page


def _rows(part: _Part, document: Document, fetched: FetchedPage) -> Sequence[Row]:
    section = part.section
    rows = document.items(section.items)
    if rows is not None:
        return rows
    if section.container and document.has(section.container):
        return []
    looked_for = f"{part.name}.items ({section.items})"
    if section.container:
        looked_for += f" and {part.name}.container ({section.container})"
    raise part.broken(f"{looked_for} matched nothing at {fetched.place}")


def _read_rows(
    part: _Part, rows: Sequence[Row], fetched: FetchedPage, read: Callable[[Row], T], page: PageRead[T]
) -> None:
    page.rows = len(rows)
    for row in rows:
        try:
            page.entries.append(read(row))
        except BadRowError as bad:
            page.skipped.append(str(bad))
    if page.skipped and not page.entries:
        [(reason, _)] = Counter(page.skipped).most_common(1)
        raise part.broken(
            f"none of the {len(rows)} rows of {fetched.place} can be used: {part.name}.fields.{reason}"
        )


@lru_cache(maxsize=50)
def _description(about: str) -> SiteDescription:
    return SiteDescription.model_validate_json(about)


def _number(found: str | None) -> int | None:
    digits = "".join(c for c in found or "" if c in "0123456789")[:9]
    return int(digits) if digits else None
