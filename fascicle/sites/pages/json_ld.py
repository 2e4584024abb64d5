"""JSON-LD of a page: the one thing it is about, among breadcrumbs, publishers and advertisements."""

import json
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser

_MOST_SCRIPTS = 20
_LONGEST_SCRIPT = 300_000
_MOST_THINGS = 200
# Endings, since there are a dozen kinds of articles and postings.
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
    """What it is, if it is something to read, watch or hear."""
    kinds = thing.get("@type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if isinstance(kind, str) and kind.endswith(_ABOUT):
            return kind.rpartition("/")[2][:40]
    return None


def name_of(value: Any) -> str | None:
    """Of a person or an organisation, however it is written: a string, a thing, a list of either."""
    for one in value if isinstance(value, list) else [value]:
        name = one.get("name") if isinstance(one, dict) else one
        if isinstance(name, str) and name.strip() and "://" not in name:
            return name
    return None


def addresses_of(value: Any) -> Iterator[Any]:
    """Of pictures: strings, things with an address, lists of either."""
    for one in value if isinstance(value, list) else [value]:
        yield (one.get("url") or one.get("contentUrl") or one.get("@id")) if isinstance(one, dict) else one


def _things(tree: LexborHTMLParser) -> Iterator[Thing]:
    waiting: list[Any] = []
    for script in tree.css('script[type="application/ld+json"]')[:_MOST_SCRIPTS]:
        waiting.append(_parsed(script.text()))
    # Breadth first, and only so many: a page may nest them as it likes.
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
    """Line breaks within strings, which JSON forbids, are common."""
    try:
        return json.loads(script[:_LONGEST_SCRIPT], strict=False)
    except (ValueError, RecursionError):
        return None
