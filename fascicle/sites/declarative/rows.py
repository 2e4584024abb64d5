"""Makes an upload, or an entry of the list of everything new, from a row of a page."""

from collections.abc import Sequence
from datetime import datetime

from fascicle.domain.instants import instant
from fascicle.domain.series.chapter import LatestEntry, Upload
from fascicle.sites import fields
from fascicle.sites.declarative.description import ChapterFields, LatestFields
from fascicle.sites.declarative.document import Row, value
from fascicle.sites.declarative.pick import Pick
from fascicle.sites.labels import label_number, label_title

_LONGEST_NUMBER = 20


class BadRowError(Exception):
    """The row cannot be used; `field` says which of its values is missing or wrong."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(f"{field} {what}")
        self.field = field


def read_upload(
    row: Row, wanted: ChapterFields, *, page: str, base: str, dates: Sequence[str], language: str | None
) -> Upload:
    """`page`: the address of the row's page; `base`: the site's; `language`: that of rows without one."""
    label = fields.text(value(row, wanted.label))
    number = fields.text(value(row, wanted.number)) if wanted.number else label_number(label)
    title = fields.text(value(row, wanted.title)) if wanted.title else label_title(label)
    return Upload(
        upload_id=_required(row, wanted.id, "id"),
        number=number if number and len(number) <= _LONGEST_NUMBER else None,
        volume=fields.text(value(row, wanted.volume)),
        title=title,
        language=(fields.text(value(row, wanted.language)) or language or "").lower() or None,
        group=fields.text(", ".join(row.values(wanted.group))) if wanted.group else None,
        url=_address(row, wanted.url, page, base),
        published_at=_time(value(row, wanted.published_at), dates),
    )


def read_latest(row: Row, wanted: LatestFields, *, dates: Sequence[str], language: str | None) -> LatestEntry:
    return LatestEntry(
        series_key=_required(row, wanted.series, "series"),
        upload_id=_required(row, wanted.id, "id"),
        at=_time(value(row, wanted.published_at), dates),
        language=(fields.text(value(row, wanted.language)) or language or "").lower() or None,
    )


def _required(row: Row, pick: Pick, name: str) -> str:
    found = fields.text(value(row, pick))
    if found is None:
        raise BadRowError(name, f"({pick}) is not there")
    return found


def _address(row: Row, pick: Pick, page: str, base: str) -> str:
    found = value(row, pick)
    if found is None:
        raise BadRowError("url", f"({pick}) is not there")
    is_ours = pick.template is not None and pick.template.startswith("/")
    address = fields.address(base + found if is_ours else found, page)
    if address is None:
        raise BadRowError("url", f"({pick}) is no web address: {found[:80]!r}")
    return address


def _time(found: str | None, formats: Sequence[str]) -> datetime | None:
    """The time by the first format that fits; a time without a zone is taken as UTC."""
    if found is None:
        return None
    for form in formats:
        if (parsed := _parsed(found, form)) is not None:
            return parsed
    return None


def _parsed(found: str, form: str) -> datetime | None:
    match form:
        case "iso":
            return fields.time(found)
        case "unix":
            return fields.unix_time(found)
        case "unix_ms":
            return fields.unix_time(found, per_second=1000)
    try:
        return instant(datetime.strptime(found, form))  # noqa: DTZ007 - without a zone it is taken as UTC
    except ValueError:
        return None
