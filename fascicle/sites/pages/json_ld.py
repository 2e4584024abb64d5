"""Finds a page's subject in its JSON-LD, among breadcrumbs, publishers and advertisements."""

import json
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

_MOST_SCRIPTS = 20
_LONGEST_SCRIPT = 300_000
_MOST_THINGS = 200
# Endings of types, because there are a dozen kinds of articles and postings.
_ABOUT = (
    "Article",
    "Posting",
    "VideoObject",
    "PodcastEpisode",
    "AudioObject",
    "MusicRecording",
    "Report",
    "Review",
)

Thing = dict[str, Any]


def main_thing(tree: LexborHTMLParser) -> Thing:
    """The first article, video or episode; empty if the page describes none."""
    return next((thing for thing in _things(tree) if kind_of(thing)), {})


def kind_of(thing: Thing) -> str | None:
    """Its type, if it is something to read, watch or hear."""
    kinds = thing.get("@type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str) and kind.endswith(_ABOUT):
            return kind.rpartition("/")[2][:40]
    return None


def name_of(value: Any) -> str | None:
    """The name of a person or an organisation, given as a string, a thing or a list of either."""
    for one in value if isinstance(value, list) else [value]:
        name = one.get("name") if isinstance(one, dict) else one
        if isinstance(name, str) and name.strip() and "://" not in name:
            return name
    return None


def addresses_of(value: Any) -> Iterator[Any]:
    """The addresses of pictures, given as strings, things with an address, or lists of either."""
    for one in value if isinstance(value, list) else [value]:
        yield (one.get("url") or one.get("contentUrl") or one.get("@id")) if isinstance(one, dict) else one


def _things(tree: LexborHTMLParser) -> Iterator[Thing]:
    waiting: list[Any] = []
    for script in tree.css('script[type="application/ld+json"]')[:_MOST_SCRIPTS]:
        waiting.append(_parsed(script.text()))
    # Breadth first and limited, because a page may nest them without end.
    for _ in range(_MOST_THINGS):
        if not waiting:
            return
        thing = waiting.pop(0)
        if isinstance(thing, list):
            waiting += thing[:_MOST_THINGS]
        elif isinstance(thing, dict):
            yield thing
            waiting += [thing.get("@graph"), thing.get("mainEntity")]


def _parsed(script: str) -> Any:
    """Not strict, because line breaks within strings, which JSON forbids, are common."""
    try:
        return json.loads(script[:_LONGEST_SCRIPT], strict=False)
    except (ValueError, RecursionError):
        return None
