"""AniList exports (JSON): the API's answer for a MediaListCollection, bare or wrapped by an exporter."""

from collections.abc import Iterator
from typing import Any

import orjson

from fascicle.imports.wanted import Parsed, Wanted, chapter_number, title_text, tracker_id, unusable

_TITLES = ("english", "romaji", "native", "userPreferred")


def parse_anilist(text: str) -> Parsed:
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise unusable(f"The JSON is damaged, incomplete or nested too deeply: {error}.") from error
    entries = list(_entries(content))
    if not entries:
        raise unusable("This is JSON, but no AniList export: it has no entries with a `media` in them.")
    manga = [entry for entry in entries if _is_manga(entry["media"])]
    # Custom lists repeat entries of the lists by status.
    unique = {_media_id(entry) or id(entry): entry for entry in reversed(manga)}
    wanted = [wanted for entry in reversed(unique.values()) if (wanted := _wanted(entry))]
    left_out = len(entries) - len(manga)
    return Parsed(wanted, (f"{left_out} anime and novels left out",) if left_out else ())


def _entries(content: Any) -> Iterator[dict[str, Any]]:
    """Every object with a `media` object in it, in the order of the file."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("media"), dict):
                yield value
                continue
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))


def _is_manga(media: dict[str, Any]) -> bool:
    return media.get("type") in (None, "MANGA") and media.get("format") != "NOVEL"


def _media_id(entry: dict[str, Any]) -> str | None:
    return tracker_id(entry["media"].get("id")) or tracker_id(entry.get("mediaId"))


def _wanted(entry: dict[str, Any]) -> Wanted | None:
    media = entry["media"]
    names = media.get("title")
    given = [names.get(key) for key in _TITLES] if isinstance(names, dict) else [names]
    titles = list(dict.fromkeys(title for title in map(title_text, given) if title))
    if not titles:
        return None
    return Wanted(
        title=titles[0],
        other_titles=tuple(titles[1:]),
        anilist_id=_media_id(entry),
        mal_id=tracker_id(media.get("idMal")),
        read=chapter_number(entry.get("progress")),
    )
