"""The facts that an adapter found about a work, as plain values (in the child)."""

from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from fascicle.sites.sanitise import sanitised_html

# No work has more tags: such a page is broken or hostile.
_MOST_ENTRIES = 500
_LONGEST_ENTRY = 1000
_LONGEST_SUMMARY = 50_000
_LISTS = ("author", "authorUrl", "category", "ships", "characters", "genre", "freeformtags", "warnings")
_WORDS = ("title", "rating", "language", "status", "series", "seriesUrl", "numWords", "chapterslashtotal")


def facts_of(story: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {name: _entries(story, name) for name in _LISTS}
    facts |= {name: _text(story.getMetadata(name, removeallentities=True)) for name in _WORDS}
    described = str(story.getMetadata("description") or "")[:_LONGEST_SUMMARY]
    facts["description"] = sanitised_html(described) or ""
    # The raw number, because the text has commas and what a configuration adds.
    facts["numChapters"] = _text(story.getMetadataRaw("numChapters"))
    facts["datePublished"] = _day(story.getMetadataRaw("datePublished"))
    facts["dateUpdated"] = _day(_updated(story))
    return facts


def is_at_home(url: str, adapter: Any) -> bool:
    """Is the address on the adapter's site: one of its domains or a subdomain, without port and user?"""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    domains = {str(name).lower().removeprefix("www.") for name in adapter.getAcceptDomains()}
    domains.add(str(adapter.getSiteDomain()).lower().removeprefix("www."))
    return (
        parts.scheme in ("http", "https")
        and parts.netloc.lower() == host
        and any(host == domain or host.endswith(f".{domain}") for domain in domains)
    )


def _entries(story: Any, name: str) -> list[str]:
    found = (_text(entry) for entry in story.getList(name, removeallentities=True))
    return list(dict.fromkeys(entry for entry in found if entry))[:_MOST_ENTRIES]


def _text(value: Any) -> str:
    return "" if value is None else str(value)[:_LONGEST_ENTRY]


def _updated(story: Any) -> Any:
    """The update's date; FanFicFare uses the current date if a page has none."""
    updated = story.getMetadataRaw("dateUpdated")
    return None if updated == story.getMetadataRaw("dateCreated") else updated


def _day(value: Any) -> str | None:
    if isinstance(value, datetime):
        value = value.date()
    return value.isoformat() if isinstance(value, date) else None
