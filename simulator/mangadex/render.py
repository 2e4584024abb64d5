"""World objects as MangaDex's JSON."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from simulator.ids import derived_id
from simulator.series import Series
from simulator.upload import Upload

Json = dict[str, Any]


class ChapterRenderer:
    """Renders each upload once for each set of expansions; a page only joins these renderings."""

    def __init__(self) -> None:
        self._rendered: WeakKeyDictionary[Upload, dict[Collection[str], orjson.Fragment]] = (
            WeakKeyDictionary()
        )

    def chapter(
        self, upload: Upload, series: Series, includes: frozenset[str], now: datetime
    ) -> orjson.Fragment:
        if "manga" in includes:
            # The series inside changes with every release, so this rendering is not cached.
            return orjson.Fragment(orjson.dumps(_chapter(upload, series, includes, now)))
        renderings = self._rendered.setdefault(upload, {})
        if includes not in renderings:
            renderings[includes] = orjson.Fragment(orjson.dumps(_chapter(upload, series, includes, now)))
        return renderings[includes]


def _chapter(upload: Upload, series: Series, includes: frozenset[str], now: datetime) -> Json:
    groups = [_group(name, upload, includes) for name in upload.groups]
    manga: Json = {"id": series.id, "type": "manga"}
    if "manga" in includes:
        manga["attributes"] = manga_attributes(series, now)
    user: Json = {"id": derived_id("user", upload.uploader), "type": "user"}
    if "user" in includes:
        user["attributes"] = {"username": upload.uploader, "roles": ["ROLE_MEMBER"], "version": 1}
    return {
        "id": upload.id,
        "type": "chapter",
        "attributes": _chapter_attributes(upload),
        "relationships": [*groups, manga, user],
    }


def _chapter_attributes(upload: Upload) -> Json:
    return {
        "volume": upload.volume,
        "chapter": upload.chapter,
        "title": upload.title,
        "translatedLanguage": upload.language,
        "externalUrl": upload.external_url,
        "isUnavailable": upload.is_unavailable,
        "publishAt": upload.publish_at.isoformat(),
        "readableAt": upload.readable_at.isoformat(),
        "createdAt": upload.created_at.isoformat(),
        "updatedAt": upload.updated_at.isoformat(),
        "version": upload.version,
        "pages": upload.pages,
    }


def _group(name: str, upload: Upload, includes: frozenset[str]) -> Json:
    group: Json = {"id": derived_id("group", name), "type": "scanlation_group"}
    if "scanlation_group" in includes:
        created_at = upload.created_at.isoformat()
        group["attributes"] = {
            "name": name,
            "altNames": [],
            "locked": False,
            "website": None,
            "ircServer": None,
            "ircChannel": None,
            "discord": None,
            "contactEmail": None,
            "description": None,
            "twitter": None,
            "mangaUpdates": None,
            "focusedLanguages": [upload.language],
            "official": upload.external_url is not None,
            "verified": False,
            "inactive": False,
            "publishDelay": "",
            "createdAt": created_at,
            "updatedAt": created_at,
            "version": 1,
        }
    return group


def manga(series: Series, includes: frozenset[str], now: datetime) -> Json:
    author_id = derived_id("author", series.about.author)
    related: list[Json] = [
        {"id": author_id, "type": "author"},
        {"id": author_id, "type": "artist"},
        {"id": derived_id("cover", series.id), "type": "cover_art"},
        {"id": derived_id("user", "simulator"), "type": "creator"},
    ]
    for relationship in related:
        if relationship["type"] in includes:
            relationship["attributes"] = _related_attributes(relationship["type"], series)
    return {
        "id": series.id,
        "type": "manga",
        "attributes": manga_attributes(series, now),
        "relationships": related,
    }


def _related_attributes(kind: str, series: Series) -> Json:
    if kind == "creator":
        return {"username": "simulator", "roles": ["ROLE_MEMBER"], "version": 1}
    created_at = series.created_at.isoformat()
    dated = {"createdAt": created_at, "updatedAt": created_at, "version": 1}
    if kind == "cover_art":
        file_name = f"{derived_id('cover file', series.id)}.jpg"
        return {"description": "", "volume": None, "fileName": file_name, "locale": "en", **dated}
    return {"name": series.about.author, "imageUrl": None, "biography": {}, **dated}


def manga_attributes(series: Series, now: datetime) -> Json:
    about = series.about
    created_at = series.created_at.isoformat()
    latest = series.latest_upload(now)
    finished = about.status == "completed" and latest is not None
    return {
        "title": {"en": about.title},
        "altTitles": about.alt_titles,
        "description": about.description,
        "isLocked": False,
        "links": about.links,
        "officialLinks": about.official_links,
        "originalLanguage": about.original_language,
        "lastVolume": (latest.volume if latest and finished else None) or "",
        "lastChapter": (latest.chapter if latest and finished else None) or "",
        "publicationDemographic": about.demographic,
        "status": about.status,
        "year": about.year,
        "contentRating": about.content_rating,
        "tags": [_tag(name) for name in about.tags],
        "state": "published",
        "chapterNumbersResetOnNewVolume": about.resets,
        "createdAt": created_at,
        "updatedAt": created_at,
        "version": 1,
        "availableTranslatedLanguages": series.available_languages,
        "latestUploadedChapter": latest.id if latest else None,
    }


def _tag(name: str) -> Json:
    attributes = {"name": {"en": name}, "description": {}, "group": "genre", "version": 1}
    return {"id": derived_id("tag", name), "type": "tag", "attributes": attributes, "relationships": []}
