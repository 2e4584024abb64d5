"""RSS, RDF and Atom: makes our feed from feedparser's result."""

import calendar
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from fascicle.domain.feeds.canonical_url import provider_id
from fascicle.domain.feeds.feed import Entry, FeedKind, ParsedFeed
from fascicle.sites.feeds import fields

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_READABLE = (*_HTML_TYPES, "text/plain")
_DAY = 86_400
_PERIODS = {"hourly": 3600, "daily": _DAY, "weekly": 7 * _DAY, "monthly": 30 * _DAY, "yearly": 365 * _DAY}
_YOUTUBE_FEED = ("youtube.com", "/feeds/videos.xml")


def xml_feed(found: Mapping[str, Any], *, itunes: bool, url: str, now: datetime, most: int) -> ParsedFeed:
    """The feed with its newest entries, without keys. `itunes`: the channel itself has iTunes tags."""
    channel, format_ = found["feed"], found.get("version") or "rss"
    read = _EntryReader(base=url, now=now, is_atom=format_.startswith("atom"))
    raw = fields.newest(found["entries"], most, read.time)
    entries = [read.entry(entry) for entry in raw]
    return ParsedFeed(
        kind=_kind(raw, entries, format_=format_, itunes=itunes, url=url),
        format=format_,
        title=fields.line(_get(channel, "title")),
        site_url=_site_url(channel, url),
        description=fields.text_or_none(_get(channel, "subtitle")),
        language=fields.language(_get(channel, "language")),
        image_url=_channel_image(channel, url),
        moved_to=fields.web_address(_get(channel, "itunes_new-feed-url"), url),
        ttl_seconds=_ttl(channel),
        entries=entries,
        entries_total=len(found["entries"]),
    )


def _get(values: Mapping[str, Any], name: str) -> Any:
    """The value as it is, because feedparser's own `get` guesses and warns."""
    return dict.get(values, name) if isinstance(values, dict) else None


def _dicts(values: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = _get(values, name)
    return [value for value in found if isinstance(value, dict)] if isinstance(found, list) else []


def podcast_guid(channel: Mapping[str, Any]) -> str | None:
    """`podcast:guid`, the same for all mirrors of a podcast."""
    return fields.text_or_none(_get(channel, "podcast_guid"), longest=100)


def _site_url(channel: Mapping[str, Any], url: str) -> str | None:
    return fields.first_address([*_alternates(channel), _get(channel, "link")], url)


def _alternates(values: Mapping[str, Any]) -> Iterator[object]:
    """Addresses of the page itself, pages for people first."""
    links = [link for link in _dicts(values, "links") if _get(link, "rel") == "alternate"]
    links.sort(key=lambda link: _get(link, "type") not in (None, *_HTML_TYPES))
    return (_get(link, "href") for link in links)


def _channel_image(channel: Mapping[str, Any], url: str) -> str | None:
    image = _get(channel, "image") or {}
    hrefs = [_get(image, "href"), _get(image, "url"), _get(channel, "logo"), _get(channel, "icon")]
    thumbnails = [_get(thumbnail, "url") for thumbnail in _dicts(channel, "media_thumbnail")]
    return fields.first_address([*hrefs, *thumbnails], url)


def _ttl(channel: Mapping[str, Any]) -> int | None:
    """The time in seconds after which the feed wants to be read again."""
    minutes = _number(_get(channel, "ttl"))
    if minutes:
        return min(60 * minutes, _DAY)
    period = _PERIODS.get(str(_get(channel, "sy_updateperiod")).strip().lower())
    if period is None:
        return None
    return min(max(period // (_number(_get(channel, "sy_updatefrequency")) or 1), 1), _DAY)


def _number(text: object) -> int | None:
    digits = text.strip() if isinstance(text, str) else ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None


def _kind(
    raw: list[dict[str, Any]], entries: list[Entry], *, format_: str, itunes: bool, url: str
) -> FeedKind:
    if any(_get(entry, "yt_videoid") for entry in raw) or _is_youtube(url):
        return FeedKind.YOUTUBE
    if format_.startswith("atom"):
        return FeedKind.ATOM
    with_media = sum(entry.media_url is not None for entry in entries)
    if (entries and 2 * with_media >= len(entries)) or (itunes and (with_media or not entries)):
        return FeedKind.PODCAST
    return FeedKind.RDF if format_ in ("rss090", "rss10") else FeedKind.RSS


def _is_youtube(url: str) -> bool:
    parts = urlsplit(url)
    return ((parts.hostname or "").removeprefix("www."), parts.path) == _YOUTUBE_FEED


class _EntryReader:
    """Entries of one document."""

    def __init__(self, *, base: str, now: datetime, is_atom: bool) -> None:
        self._base = base
        self._now = now
        self._is_atom = is_atom

    def entry(self, raw: Mapping[str, Any]) -> Entry:
        guid = (_get(raw, "id") or "").strip()[:2000] or None
        url = self._url(raw, guid)
        provider, provider_item_id = _provider(raw, url) or (None, None)
        content, summary = self._content(raw), self._summary(raw)
        return Entry(
            key="",
            guid=guid,
            url=url,
            title=fields.line(_get(raw, "title")),
            summary=None if summary == content else summary,
            content=content,
            author=_author(raw),
            published_at=self.time(raw),
            updated_at=self._time(raw, "updated"),
            language=_language(raw),
            image_url=self._image(raw),
            categories=fields.categories(
                _get(tag, "term") or _get(tag, "label") for tag in _dicts(raw, "tags")
            ),
            provider=provider,
            provider_item_id=provider_item_id,
            **self._media(raw),
        )

    def time(self, raw: Mapping[str, Any]) -> datetime | None:
        return self._time(raw, "published") or self._time(raw, "updated")

    def _url(self, raw: Mapping[str, Any], guid: str | None) -> str | None:
        # FeedBurner's own addresses count clicks and stop working one day.
        original = _get(raw, "feedburner_origlink")
        permanent = guid if guid and guid.startswith(("http://", "https://")) else None
        enclosures = (_get(link, "href") for link in _enclosures(raw))
        return fields.first_address([original, *_alternates(raw), permanent, *enclosures], self._base)

    def _time(self, raw: Mapping[str, Any], name: str) -> datetime | None:
        written, parsed = _get(raw, name), _get(raw, f"{name}_parsed")
        seconds = _number(written)  # UNIX seconds, which feedparser reads as a day of the year 1518
        if seconds is None and not isinstance(parsed, time.struct_time):
            return None
        try:
            moment = datetime.fromtimestamp(seconds or calendar.timegm(parsed), UTC)
            return fields.believable(moment, self._now)
        except (ValueError, OverflowError, OSError):
            return None

    def _content(self, raw: Mapping[str, Any]) -> str | None:
        readable = [part for part in _dicts(raw, "content") if _get(part, "type") in _READABLE]
        longest = max(readable, key=lambda part: len(_get(part, "value") or ""), default=None)
        return self._html(longest) if longest else None

    def _summary(self, raw: Mapping[str, Any]) -> str | None:
        detail = _get(raw, "summary_detail") or {}
        # A description on YouTube is plain text of many lines.
        plain = {"type": "text/plain"} if _get(raw, "yt_videoid") else {}
        return self._html({**detail, **plain, "value": _get(raw, "summary")})

    def _html(self, part: Mapping[str, Any]) -> str | None:
        plain = _get(part, "type") == "text/plain" and self._is_atom
        base = fields.joined(self._base, _get(part, "base") or "") or self._base
        return fields.with_absolute_links(fields.html_of(_get(part, "value"), plain=plain), base)

    def _image(self, raw: Mapping[str, Any]) -> str | None:
        media = [
            _get(part, "url")
            for part in _dicts(raw, "media_content")
            if fields.is_image(_get(part, "type") or _get(part, "medium"), _get(part, "url"))
        ]
        enclosed = [
            _get(link, "href")
            for link in _enclosures(raw)
            if fields.is_image(_get(link, "type"), _get(link, "href"))
        ]
        thumbnails = [_get(part, "url") for part in _dicts(raw, "media_thumbnail")]
        image = _get(_get(raw, "image") or {}, "href")
        return fields.first_address([*thumbnails, *media, image, *enclosed], self._base)

    def _media(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        candidates = [(_get(link, "href"), link) for link in _enclosures(raw)]
        candidates += [(_get(part, "url"), part) for part in _dicts(raw, "media_content")]
        seconds = fields.duration(_get(raw, "itunes_duration"))
        for address, part in candidates:
            url = fields.web_address(address, self._base)
            kind = fields.media_type(_get(part, "type"), url) if url else None
            if kind:
                seconds = seconds or fields.duration(_get(part, "duration"))
                return {"media_url": url, "media_type": kind, "duration_seconds": seconds}
        return {"duration_seconds": seconds or self._any_duration(raw)}

    @staticmethod
    def _any_duration(raw: Mapping[str, Any]) -> int | None:
        found = (fields.duration(_get(part, "duration")) for part in _dicts(raw, "media_content"))
        return next((seconds for seconds in found if seconds), None)


def _provider(raw: Mapping[str, Any], url: str | None) -> tuple[str, str] | None:
    if video := fields.line(_get(raw, "yt_videoid"), longest=50):
        return "youtube", video
    return provider_id(url) if url else None


def _enclosures(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [link for link in _dicts(raw, "links") if _get(link, "rel") == "enclosure"]


def _author(raw: Mapping[str, Any]) -> str | None:
    name = _get(_get(raw, "author_detail") or {}, "name")
    return fields.text_or_none(name, longest=200) or fields.text_or_none(_get(raw, "author"), longest=200)


def _language(raw: Mapping[str, Any]) -> str | None:
    details = [_get(raw, "summary_detail"), _get(raw, "title_detail"), *_dicts(raw, "content")]
    named = [_get(raw, "language"), *(_get(detail or {}, "language") for detail in details)]
    return next((found for name in named if (found := fields.language(name))), None)
