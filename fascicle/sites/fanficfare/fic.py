"""Makes our model of a work from the facts that an adapter found."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from fascicle.domain.errors import PermanentError
from fascicle.domain.fics.fic import Fic, FicCode, FicRef, SeriesPart
from fascicle.domain.plain_text import plain_line

_SERIES = re.compile(r"(?P<title>.+?)\s*\[(?P<part>\d{1,6})(?:\.\d+)?\]", re.DOTALL)
_COMPLETE = frozenset({"complete", "completed", "finished", "one-shot", "oneshot"})


def fic_of(ref: FicRef, facts: Mapping[str, Any]) -> Fic:
    title, authors = plain_line(facts["title"]), _lines(facts["author"])
    # Adapters call a missing author anonymous, so a page without any author is not a work.
    if not title or not authors:
        raise PermanentError(
            FicCode.PARSER_BROKEN, f"The page at {ref.url} shows no work: it has no title or no author."
        )
    return Fic(
        site=ref.site,
        id=ref.id,
        url=ref.url,
        title=title,
        authors=authors,
        author_urls=[url for url in facts["authorUrl"] if _is_web_address(url)],
        fandoms=_lines(facts["category"]),
        relationships=_lines(facts["ships"]),
        characters=_lines(facts["characters"]),
        tags=_lines([*facts["genre"], *facts["freeformtags"]]),
        warnings=_lines(facts["warnings"]),
        rating=plain_line(facts["rating"]) or None,
        language=plain_line(facts["language"]) or None,
        summary=facts["description"] or None,
        words=_number(facts["numWords"]),
        chapters=_number(facts["numChapters"]),
        chapters_total=_number(facts["chapterslashtotal"].partition("/")[2]),
        complete=_complete(facts["status"]),
        published_on=_day(facts["datePublished"]),
        updated_on=_day(facts["dateUpdated"]),
        series=_series(facts),
    )


def _lines(entries: Iterable[str]) -> list[str]:
    lines = (plain_line(entry) for entry in entries)
    return list(dict.fromkeys(line for line in lines if line))


def _number(text: str) -> int | None:
    digits = text.replace(",", "").strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 12 else None


def _complete(status: str) -> bool | None:
    """None if the page does not tell. Abandoned, on hiatus and in progress all mean not complete."""
    return None if not status.strip() else status.strip().lower() in _COMPLETE


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def _series(facts: Mapping[str, Any]) -> list[SeriesPart]:
    """FanFicFare writes `Name [3]`."""
    named = plain_line(facts["series"])
    if not named:
        return []
    match = _SERIES.fullmatch(named)
    title, part = (match["title"], int(match["part"])) if match else (named, None)
    url = facts["seriesUrl"] if _is_web_address(facts["seriesUrl"]) else None
    number = urlsplit(url).path.rstrip("/").rpartition("/")[2] if url else ""
    return [SeriesPart(id=number or title, title=title, url=url, part=part)]


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
