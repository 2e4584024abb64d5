"""The chapters that a request lists: parameters, filters, order and page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from simulator.ids import derived_id
from simulator.index import SortKey
from simulator.mangadex.parameters import MAX_IDS, Order, Parameters
from simulator.series import Series
from simulator.upload import Upload, numeric_value
from simulator.world import World

RATINGS = ("safe", "suggestive", "erotica", "pornographic")
DEFAULT_RATINGS = frozenset(RATINGS) - {"pornographic"}
INCLUDES = ("manga", "scanlation_group", "user")

SORT_VALUES: dict[str, Callable[[Upload], float]] = {
    "createdAt": lambda upload: upload.created_at.timestamp(),
    "updatedAt": lambda upload: upload.updated_at.timestamp(),
    "publishAt": lambda upload: upload.publish_at.timestamp(),
    "readableAt": lambda upload: upload.readable_at.timestamp(),
    "volume": lambda upload: numeric_value(upload.volume),
    "chapter": lambda upload: numeric_value(upload.chapter),
}

Predicate = Callable[[Upload, Series], bool]


@dataclass(frozen=True, slots=True)
class ChapterFilter:
    """Filters whose result does not depend on the time, so that it can be cached."""

    languages: frozenset[str]
    original_languages: frozenset[str]
    excluded_original_languages: frozenset[str]
    ratings: frozenset[str]
    excluded_groups: frozenset[str]
    excluded_uploaders: frozenset[str]
    external_host: str | None
    excluded_external_host: str | None
    empty_pages: bool | None
    external: bool | None
    unavailable: bool
    groups: frozenset[str] = frozenset()
    uploaders: frozenset[str] = frozenset()
    volumes: frozenset[str] = frozenset()
    chapters: frozenset[str] = frozenset()
    title: str | None = None

    def predicates(self) -> Iterator[Predicate]:
        yield lambda upload, series: "mangadex" in upload.sites
        yield lambda upload, series: series.about.content_rating in self.ratings
        if not self.unavailable:
            yield lambda upload, series: not upload.is_unavailable
        if self.languages:
            yield lambda upload, series: upload.language in self.languages
        if self.empty_pages is not None:
            yield lambda upload, series: (upload.pages == 0) is self.empty_pages
        if self.external is not None:
            yield lambda upload, series: (upload.external_url is not None) is self.external
        yield from self._predicates_on_people()
        yield from self._predicates_on_text()

    def _predicates_on_people(self) -> Iterator[Predicate]:
        if self.original_languages:
            yield lambda upload, series: series.about.original_language in self.original_languages
        if self.excluded_original_languages:
            yield (
                lambda upload, series: series.about.original_language not in self.excluded_original_languages
            )
        if self.groups:
            yield lambda upload, series: not self.groups.isdisjoint(_group_ids(upload))
        if self.excluded_groups:
            yield lambda upload, series: self.excluded_groups.isdisjoint(_group_ids(upload))
        if self.uploaders:
            yield lambda upload, series: derived_id("user", upload.uploader) in self.uploaders
        if self.excluded_uploaders:
            yield lambda upload, series: derived_id("user", upload.uploader) not in self.excluded_uploaders

    def _predicates_on_text(self) -> Iterator[Predicate]:
        if self.volumes:
            yield lambda upload, series: (upload.volume or "none") in self.volumes
        if self.chapters:
            yield lambda upload, series: upload.chapter in self.chapters
        if self.title is not None:
            wanted = self.title.casefold()
            yield lambda upload, series: wanted in (upload.title or "").casefold()
        if self.external_host is not None:
            yield lambda upload, series: _external_host(upload) == self.external_host
        if self.excluded_external_host is not None:
            yield lambda upload, series: _external_host(upload) != self.excluded_external_host


@dataclass(frozen=True, slots=True)
class TimeFilter:
    """Filters whose result is not cached: it depends on the time, or their values hardly ever repeat."""

    created_since: datetime | None
    updated_since: datetime | None
    published_since: datetime | None
    future_updates: bool
    future_publish: bool | None

    def predicates(self, now: datetime) -> Iterator[Callable[[Upload], bool]]:
        if created_since := self.created_since:
            yield lambda upload: upload.created_at >= created_since
        if updated_since := self.updated_since:
            yield lambda upload: upload.updated_at >= updated_since
        if published_since := self.published_since:
            yield lambda upload: upload.publish_at >= published_since
        if not self.future_updates:
            yield lambda upload: upload.readable_at <= now
        if self.future_publish is not None:
            yield lambda upload: (upload.publish_at > now) is self.future_publish


@dataclass(frozen=True, slots=True)
class ChapterQuery:
    limit: int
    offset: int
    order: Order
    includes: frozenset[str]
    lasting: ChapterFilter
    timed: TimeFilter
    ids: tuple[str, ...]
    manga: str | None


def read_feed_query(parameters: Parameters, manga: str) -> ChapterQuery:
    """The parameters of a series' feed."""
    page = parameters.page(default=100, minimum=1, maximum=500)
    query = _read_query(parameters, page, _read_feed_filter(parameters), manga)
    parameters.refuse_rest()
    return query


def read_list_query(parameters: Parameters) -> ChapterQuery:
    """The parameters of the list of all chapters."""
    page = parameters.page(default=10, minimum=0, maximum=100)
    lasting = replace(
        _read_feed_filter(parameters),
        groups=frozenset(parameters.ids("groups")),
        uploaders=frozenset(parameters.ids("uploader")),
        volumes=parameters.texts("volume"),
        chapters=parameters.texts("chapter"),
        title=parameters.text("title"),
    )
    ids = parameters.ids("ids", at_most=MAX_IDS)
    query = _read_query(parameters, page, lasting, parameters.one_id("manga"), ids)
    parameters.refuse_rest()
    return query


def _read_query(
    parameters: Parameters,
    page: tuple[int, int],
    lasting: ChapterFilter,
    manga: str | None,
    ids: tuple[str, ...] = (),
) -> ChapterQuery:
    return ChapterQuery(
        limit=page[0],
        offset=page[1],
        order=parameters.order(SORT_VALUES),
        includes=parameters.texts("includes", INCLUDES),
        lasting=lasting,
        timed=TimeFilter(
            created_since=parameters.moment("createdAtSince"),
            updated_since=parameters.moment("updatedAtSince"),
            published_since=parameters.moment("publishAtSince"),
            future_updates=bool(parameters.flag("includeFutureUpdates", default=True)),
            future_publish=parameters.flag("includeFuturePublishAt"),
        ),
        ids=ids,
        manga=manga,
    )


def _read_feed_filter(parameters: Parameters) -> ChapterFilter:
    return ChapterFilter(
        languages=parameters.languages("translatedLanguage"),
        original_languages=parameters.languages("originalLanguage"),
        excluded_original_languages=parameters.languages("excludedOriginalLanguage"),
        ratings=parameters.texts("contentRating", RATINGS) or DEFAULT_RATINGS,
        excluded_groups=frozenset(parameters.ids("excludedGroups")),
        excluded_uploaders=frozenset(parameters.ids("excludedUploaders")),
        external_host=parameters.text("externalUrl"),
        excluded_external_host=parameters.text("excludeExternalUrl"),
        empty_pages=parameters.flag("includeEmptyPages"),
        external=parameters.flag("includeExternalUrl"),
        unavailable=bool(parameters.flag("includeUnavailable", default=False)),
    )


def select_page(world: World, query: ChapterQuery) -> tuple[list[Upload], int]:
    """The uploads of the requested page, and their number on all pages."""
    with world.lock:
        selected = _select_lasting(world, query)
        timed = list(query.timed.predicates(world.now()))
        if timed:
            selected = [upload for upload in selected if all(keep(upload) for keep in timed)]
        return selected[query.offset : query.offset + query.limit], len(selected)


def _select_lasting(world: World, query: ChapterQuery) -> list[Upload]:
    predicates = list(query.lasting.predicates())

    def keep(upload: Upload) -> bool:
        series = world.series[upload.series_id]
        return all(predicate(upload, series) for predicate in predicates)

    sort_key = sort_key_for(query.order)
    if query.ids:
        known = [upload for upload in map(world.index.get, query.ids) if upload]
        asked = [upload for upload in known if query.manga in (None, upload.series_id)]
        return sorted(filter(keep, asked), key=sort_key)
    if query.manga is None:
        return world.index.view((query.order, query.lasting), sort_key, keep)
    series = world.series.get(query.manga)
    return series.index.view((query.order, query.lasting), sort_key, keep) if series else []


def sort_key_for(order: Order) -> SortKey:
    """Sorts by the requested fields; ties, and requests without an order, use the order of upload."""
    signed = [(SORT_VALUES[field], -1 if descends else 1) for field, descends in order]
    tie_sign = signed[0][1] if signed else 1
    return lambda upload: (*(sign * value(upload) for value, sign in signed), tie_sign * upload.ordinal)


def _group_ids(upload: Upload) -> list[str]:
    return [derived_id("group", name) for name in upload.groups]


def _external_host(upload: Upload) -> str | None:
    return urlsplit(upload.external_url).hostname if upload.external_url else None
