"""The contents of an adapter file, validated when the file is read."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import parse_http_url
from fascicle.sites.declarative.pick import Pick, Regex

_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def _checked_base(value: str) -> str:
    try:
        parse_http_url(value)
    except UsageError as error:
        raise ValueError(error.message) from error
    return value.rstrip("/")


def _checked_template(value: str) -> str:
    if not value.startswith(("/", "https://", "http://")):
        raise ValueError("must begin with / (below base_url) or https://")
    if strangers := set(_PLACEHOLDER.findall(value)) - {"key", "page", "cursor"}:
        raise ValueError(f"{{{strangers.pop()}}} means nothing here; use {{key}}, {{page}} or {{cursor}}")
    return value


def _checked_pattern(value: str) -> str:
    if "key" not in re.compile(value).groupindex:
        raise ValueError("name the series' key: (?P<key>...)")
    return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


BaseAddress = Annotated[str, AfterValidator(_checked_base)]
UrlTemplate = Annotated[str, AfterValidator(_checked_template)]
SiteName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,30}$")]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[a-z]{2,4})?$")]
DateFormats = Annotated[tuple[str, ...], BeforeValidator(_as_list)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def picks(self) -> Iterator[tuple[str, Pick]]:
        """All picks of the part with their names."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Pick):
                yield name, value
            elif isinstance(value, _Part):
                yield from ((f"{name}.{inner}", pick) for inner, pick in value.picks())


class Paging(_Part):
    """How a list continues on the next page. Without paging, it is one page."""

    by: Literal["page", "link", "cursor"]
    first: int = 1
    """by page: the number of the first page"""
    more: Pick | None = None
    """by page: a mark on each page that another page follows; without it, an empty page is the end"""
    next: Pick | None = None
    """by link: the next page's address; by cursor: its token"""
    max_pages: int = Field(100, ge=1, le=500)

    @model_validator(mode="after")
    def _fits(self) -> "Paging":
        if (self.next is None) != (self.by == "page"):
            raise ValueError("`next` says where the next page is: needed by link and by cursor, not by page")
        return self


class _List(_Part):
    url: UrlTemplate
    items: Pick
    container: Pick | None = None
    """An element that is there even if the list is empty. JSON: the list itself, if left out."""
    dates: DateFormats = ("iso",)
    """How times are written: iso, unix, unix_ms or strptime formats, tried in turn"""
    paging: Paging | None = None

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> "_List":
        strangers = [name for name, pick in self.picks() if pick.is_json != self.items.is_json]
        if strangers:
            kinds = ("a JSON path", "CSS") if self.items.is_json else ("CSS", "a JSON path")
            raise ValueError(f"`items` is {kinds[0]}, but {strangers[0]} is {kinds[1]}; use one kind")
        return self

    @model_validator(mode="after")
    def _pages_are_in_the_address(self) -> "_List":
        by = self.paging.by if self.paging else None
        kind = f"paging is by {by}" if by else "there is no paging"
        for name in ("page", "cursor"):
            for template in self._templates():
                if (by == name) != (f"{{{name}}}" in template):
                    verb = "needs" if by == name else "must not have"
                    raise ValueError(f"the address {template} {verb} {{{name}}}: {kind}")
        return self

    def _templates(self) -> list[str]:
        return [self.url]

    @model_validator(mode="after")
    def _can_end(self) -> "_List":
        ends_when_empty = self.paging is not None and self.paging.by == "page" and self.paging.more is None
        if ends_when_empty and not self.items.is_json and self.container is None:
            raise ValueError(
                "paging by page needs `paging.more` or `container`, to tell the end from a fault"
            )
        return self


class ChapterFields(_Part):
    id: Pick
    url: Pick
    number: Pick | None = None
    label: Pick | None = None
    """A text such as `Chapter 12.5: Rain`: the number is read from it if `number` is left out"""
    title: Pick | None = None
    volume: Pick | None = None
    language: Pick | None = None
    group: Pick | None = None
    published_at: Pick | None = None


class ChapterList(_List):
    order: Literal["newest_first", "oldest_first"] = "newest_first"
    oldest_first_url: UrlTemplate | None = None
    """The same list in the other order: new chapters do not move its pages while they are read"""
    total: Pick | None = None
    fields: ChapterFields

    def _templates(self) -> list[str]:
        return [template for template in (self.url, self.oldest_first_url) if template]

    @field_validator("url", "oldest_first_url")
    @classmethod
    def _names_the_series(cls, value: str | None) -> str | None:
        if value is not None and "{key}" not in value:
            raise ValueError("needs {key}, the series' key")
        return value


class LatestFields(_Part):
    series: Pick
    id: Pick
    language: Pick | None = None
    published_at: Pick | None = None


class LatestList(_List):
    fields: LatestFields

    @field_validator("url")
    @classmethod
    def _is_for_all_series(cls, value: str) -> str:
        if "{key}" in value:
            raise ValueError("is one list for all series; {key} has no place in it")
        return value


class SeriesPage(_Part):
    url: UrlTemplate
    title: Pick
    page: UrlTemplate | None = None
    """The series' address for people, if `url` is an API's"""


class SiteDescription(_Part):
    name: SiteName
    base_url: BaseAddress
    match: Annotated[
        tuple[Annotated[Regex, AfterValidator(_checked_pattern)], ...],
        BeforeValidator(_as_list),
        Field(min_length=1),
    ]
    """Addresses of series, without https:// and www.; the group `key` is the series' key"""
    gate: float = Field(1.0, ge=0, allow_inf_nan=False)
    """The least number of seconds between two requests"""
    complete: bool = True
    """False: the site lists only part of its chapters, so a missing chapter does not count as vanished"""
    language: Language | None = None
    """The language of everything on the site"""
    numbering_restarts: bool = False
    series: SeriesPage
    list: ChapterList
    latest: LatestList | None = None
