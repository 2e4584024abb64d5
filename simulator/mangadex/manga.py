"""The series that a request lists."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from simulator.mangadex.chapters import DEFAULT_RATINGS, RATINGS
from simulator.mangadex.parameters import MAX_IDS, Order, Parameters
from simulator.series import Series
from simulator.specs import Demographic, SeriesStatus
from simulator.world import World

INCLUDES = ("manga", "cover_art", "author", "artist", "tag", "creator")
NEWEST_UPLOAD_FIRST: Order = (("latestUploadedChapter", True),)

SortValue = Callable[[Series, datetime], float | str]


def _latest_upload_time(series: Series, now: datetime) -> float:
    latest = series.latest_upload(now)
    return latest.readable_at.timestamp() if latest else 0.0


SORT_VALUES: dict[str, SortValue] = {
    "title": lambda series, now: series.title.casefold(),
    "year": lambda series, now: series.about.year or 0,
    "createdAt": lambda series, now: series.created_at.timestamp(),
    "updatedAt": lambda series, now: series.created_at.timestamp(),
    "latestUploadedChapter": _latest_upload_time,
    # All matches are equally relevant, so the order of creation stays.
    "relevance": lambda series, now: 0,
}


@dataclass(frozen=True, slots=True)
class MangaQuery:
    limit: int
    offset: int
    order: Order
    includes: frozenset[str]
    ids: tuple[str, ...]
    title: str | None
    ratings: frozenset[str]
    statuses: frozenset[str]
    demographics: frozenset[str]
    original_languages: frozenset[str]
    excluded_original_languages: frozenset[str]
    translated_languages: frozenset[str]
    created_since: datetime | None
    updated_since: datetime | None

    def matches(self, series: Series) -> bool:
        about = series.about
        return (
            about.content_rating in self.ratings
            and (not self.statuses or about.status in self.statuses)
            and (not self.demographics or (about.demographic or "none") in self.demographics)
            and (not self.original_languages or about.original_language in self.original_languages)
            and about.original_language not in self.excluded_original_languages
            and (
                not self.translated_languages
                or not self.translated_languages.isdisjoint(series.available_languages)
            )
            and (self.created_since is None or series.created_at >= self.created_since)
            and (self.updated_since is None or series.created_at >= self.updated_since)
            and (self.title is None or _is_called(series, self.title.casefold()))
        )


def read_manga_query(parameters: Parameters) -> MangaQuery:
    limit, offset = parameters.page(default=10, minimum=0, maximum=100)
    query = MangaQuery(
        limit=limit,
        offset=offset,
        order=parameters.order(SORT_VALUES) or NEWEST_UPLOAD_FIRST,
        includes=parameters.texts("includes", INCLUDES),
        ids=parameters.ids("ids", at_most=MAX_IDS),
        title=parameters.text("title"),
        ratings=parameters.texts("contentRating", RATINGS) or DEFAULT_RATINGS,
        statuses=parameters.texts("status", get_args(SeriesStatus)),
        demographics=parameters.texts("publicationDemographic", (*get_args(Demographic), "none")),
        original_languages=parameters.languages("originalLanguage"),
        excluded_original_languages=parameters.languages("excludedOriginalLanguage"),
        translated_languages=parameters.languages("availableTranslatedLanguage"),
        created_since=parameters.moment("createdAtSince"),
        updated_since=parameters.moment("updatedAtSince"),
    )
    parameters.refuse_rest()
    return query


def select_series(world: World, query: MangaQuery) -> tuple[list[Series], int]:
    """The series of the requested page, and their number on all pages. Hold the world's lock."""
    asked = map(world.series.get, query.ids) if query.ids else iter(world.series.values())
    selected = [s for s in asked if s and "mangadex" in s.about.sites and query.matches(s)]
    now = world.now()
    for field, descends in reversed(query.order):
        value = SORT_VALUES[field]
        selected.sort(key=lambda series: value(series, now), reverse=descends)
    return selected[query.offset : query.offset + query.limit], len(selected)


def _is_called(series: Series, wanted: str) -> bool:
    """Whether a title contains `wanted`, or all its words: the real search ignores punctuation."""
    titles = [series.title, *(text for titles in series.about.alt_titles for text in titles.values())]
    words = _words(wanted)
    return any(
        wanted in title.casefold() or (words and words <= _words(title.casefold())) for title in titles
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))
