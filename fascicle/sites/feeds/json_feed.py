"""JSON Feed, versions 1 and 1.1."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from fascicle.domain.feeds.canonical_url import provider_id
from fascicle.domain.feeds.feed import Entry, FeedKind, ParsedFeed
from fascicle.sites.feeds import fields


def loaded(text: str) -> Any:
    """The text's value as JSON; None if it is not JSON. Unescaped control characters are accepted."""
    for load in (orjson.loads, lambda lax: json.loads(lax, strict=False)):
        try:
            return load(text)
        except (ValueError, RecursionError):
            continue
    return None


def is_json_feed(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        return False
    named = any(isinstance(document.get(name), str) for name in ("feed_url", "home_page_url"))
    return "jsonfeed.org/version/" in str(document.get("version")) or (named and "title" in document)


def json_feed(document: Mapping[str, Any], *, url: str, now: datetime, most: int) -> ParsedFeed:
    """The feed with its newest entries, which have no keys yet."""
    items = [item for item in document["items"] if isinstance(item, dict)]
    return ParsedFeed(
        kind=FeedKind.JSON,
        format="json1.1" if str(document.get("version")).rstrip("/").endswith("1.1") else "json1",
        title=fields.line(document.get("title")),
        site_url=fields.web_address(document.get("home_page_url"), url),
        description=fields.text_or_none(document.get("description")),
        language=fields.language(document.get("language")),
        image_url=fields.first_address([document.get("icon"), document.get("favicon")], url),
        entries=[_entry(item, url, now) for item in fields.newest(items, most, lambda i: _time(i, now))],
        entries_total=len(items),
    )


def _entry(item: Mapping[str, Any], base: str, now: datetime) -> Entry:
    guid = _id(item.get("id"))
    url = fields.first_address([item.get("url"), item.get("external_url"), _if_web(guid)], base)
    provider, provider_item_id = (provider_id(url) if url else None) or (None, None)
    return Entry(
        key="",
        guid=guid,
        url=url,
        title=fields.line(item.get("title")),
        summary=fields.html_of(item.get("summary"), plain=True),
        content=_content(item, base),
        author=_author(item),
        published_at=_time(item, now),
        updated_at=fields.believable(fields.time_of(item.get("date_modified")), now),
        language=fields.language(item.get("language")),
        image_url=fields.first_address([item.get("image"), item.get("banner_image")], base),
        categories=fields.categories(_list(item.get("tags"))),
        provider=provider,
        provider_item_id=provider_item_id,
        **_attachment(item, base),
    )


def _time(item: Mapping[str, Any], now: datetime) -> datetime | None:
    dates = (fields.time_of(item.get(name)) for name in ("date_published", "date_modified"))
    return next((moment for date in dates if (moment := fields.believable(date, now))), None)


def _id(value: object) -> str | None:
    """The id as a string; version 1 wants numbers to be read as strings."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None


def _if_web(guid: str | None) -> str | None:
    return guid if guid and guid.startswith(("http://", "https://")) else None


def _content(item: Mapping[str, Any], base: str) -> str | None:
    written = fields.with_absolute_links(fields.html_of(item.get("content_html")), base)
    return written or fields.html_of(item.get("content_text"), plain=True)


def _author(item: Mapping[str, Any]) -> str | None:
    authors = [*_list(item.get("authors")), item.get("author")]
    names = [fields.line(author.get("name"), longest=200) for author in authors if isinstance(author, dict)]
    return ", ".join(dict.fromkeys(name for name in names if name))[:200] or None


def _attachment(item: Mapping[str, Any], base: str) -> dict[str, Any]:
    for attachment in _list(item.get("attachments")):
        url = fields.web_address(attachment.get("url"), base) if isinstance(attachment, dict) else None
        kind = fields.media_type(attachment.get("mime_type"), url) if url else None
        if kind:
            seconds = fields.duration(attachment.get("duration_in_seconds"))
            return {"media_url": url, "media_type": kind, "duration_seconds": seconds}
    return {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
