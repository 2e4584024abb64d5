"""The summary of a series by volume and chapter."""

from collections.abc import Iterable
from typing import Any

from simulator.ids import derived_id
from simulator.mangadex.chapters import sort_key_for
from simulator.mangadex.parameters import Parameters
from simulator.series import Series
from simulator.upload import Upload

HIGHEST_FIRST = sort_key_for((("volume", True), ("chapter", True), ("createdAt", False)))


def aggregate(series: Series, parameters: Parameters) -> dict[str, Any]:
    """Hold the world's lock."""
    languages = parameters.languages("translatedLanguage")
    groups = frozenset(parameters.ids("groups"))
    unavailable = parameters.flag("includeUnavailable", default=False)
    parameters.refuse_rest()
    uploads = [
        upload
        for upload in sorted(series.index, key=HIGHEST_FIRST)
        if "mangadex" in upload.sites
        and (unavailable or not upload.is_unavailable)
        and (not languages or upload.language in languages)
        and (not groups or any(derived_id("group", name) in groups for name in upload.groups))
    ]
    # The real site is written in PHP, where an empty map is an empty list.
    return {"result": "ok", "volumes": _volumes(uploads) or []}


def _volumes(uploads: Iterable[Upload]) -> dict[str, Any]:
    volumes: dict[str, Any] = {}
    for upload in uploads:
        name, number = upload.volume or "none", upload.chapter or "none"
        volume = volumes.setdefault(name, {"volume": name, "count": 0, "chapters": {}})
        volume["count"] += 1
        chapter = volume["chapters"].get(number)
        if chapter is None:
            volume["chapters"][number] = {
                "chapter": number,
                "id": upload.id,
                "isUnavailable": upload.is_unavailable,
                "others": [],
                "count": 1,
            }
        else:
            chapter["others"].append(upload.id)
            chapter["count"] += 1
    return volumes
