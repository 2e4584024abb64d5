"""Single fields of feeds of any format: each result is clean or None."""

import html
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

from fascicle.domain.instants import instant, mail_date
from fascicle.domain.plain_text import plain_line

_Raw = TypeVar("_Raw")
LONGEST_HTML = 200_000
_LONGEST_URL = 2048
# A line with its markup is cut to this length before it is read: some markup takes quadratic time.
_LONGEST_LINE = 4000
_MOST_CATEGORIES = 20
_LONGEST_CATEGORY = 100
# Earlier dates, such as 1970 or 1980, come from clocks that were never set.
_EARLIEST = datetime(1990, 1, 2, tzinfo=UTC)
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_FUTURE = timedelta(days=2)
_LONGEST_DURATION = 30 * 86_400
_CLOCK = re.compile(r"(?:(\d{1,3}):)?(\d{1,4}):(\d{1,2})(?:[.,]\d+)?")
_SECONDS = re.compile(r"(\d{1,9})(?:[.,]\d*)?(?:\s*s(?:ec(?:onds?)?)?)?")
_MEDIA_END = re.compile(r"\.(?:(mp3|m4a|aac|ogg|oga|opus|flac|wav)|(mp4|m4v|mov|webm|mkv))$", re.IGNORECASE)
_IMAGE_END = re.compile(r"\.(?:jpe?g|png|gif|webp|avif)$", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_LINK = re.compile(r"""(\s(?:href|src|poster)\s*=\s*)(?:"([^"<>]*)"|'([^'<>]*)')""", re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
_ABSOLUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|#")


def line(text: object, *, longest: int = 1000) -> str:
    """One line of plain text; "" for a value that is no text."""
    return plain_line(html.unescape(text[:_LONGEST_LINE]), longest=longest) if isinstance(text, str) else ""


def html_of(text: object, *, plain: bool = False) -> str | None:
    """HTML, cut to a length; plain text becomes HTML."""
    if not isinstance(text, str) or not text.strip():
        return None
    if plain:
        text = html.escape(text.strip(), quote=False).replace("\n", "<br>\n")
    return text[:LONGEST_HTML]


def with_absolute_links(text: str | None, base: str) -> str | None:
    if not text:
        return None

    def absolute(link: re.Match[str]) -> str:
        href = html.unescape(link[2] if link[2] is not None else link[3]).strip()
        if not href or _ABSOLUTE.match(href):
            return link[0]
        return f'{link[1]}"{html.escape(joined(base, href))}"'

    return _TAG.sub(lambda tag: _LINK.sub(absolute, tag[0]), text)


def joined(base: str, address: str) -> str:
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def web_address(address: object, base: str) -> str | None:
    """Absolute, http(s) and of a length that can be stored; None otherwise."""
    if not isinstance(address, str) or not address.strip():
        return None
    absolute = joined(base, "".join(address.split()) if "\n" in address else address.strip())
    try:
        parts = urlsplit(absolute)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or len(absolute) > _LONGEST_URL:
        return None
    return absolute.replace(" ", "%20")


def first_address(addresses: Iterable[object], base: str) -> str | None:
    return next((url for address in addresses if (url := web_address(address, base))), None)


def believable(moment: datetime | None, now: datetime) -> datetime | None:
    """The time in UTC; None if no entry can have that time."""
    utc = instant(moment)
    return utc if utc is not None and _EARLIEST <= utc <= now + _FUTURE else None


def time_of(text: object) -> datetime | None:
    """A time in RFC 3339, as JSON feeds should have, or in RFC 2822, as some have."""
    if not isinstance(text, str):
        return None
    try:
        return instant(datetime.fromisoformat(text.strip()))
    except ValueError:
        return mail_date(text.strip())


def duration(text: object) -> int | None:
    """Seconds, from seconds, MM:SS or HH:MM:SS."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        return int(text) if 0 < text <= _LONGEST_DURATION else None
    if not isinstance(text, str):
        return None
    if clock := _CLOCK.fullmatch(text.strip()):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        total = 3600 * hours + 60 * minutes + seconds
    elif count := _SECONDS.fullmatch(text.strip().lower()):
        total = int(count[1])
    else:
        return None
    return total if 0 < total <= _LONGEST_DURATION else None


def media_type(declared: object, url: str) -> str | None:
    """`audio/…` or `video/…`, as declared or by the address's ending; None: neither."""
    kind = declared.strip().lower() if isinstance(declared, str) else ""
    if kind.startswith(("audio/", "video/")):
        return kind[:100]
    if kind and kind not in ("application/octet-stream", "binary/octet-stream"):
        return None
    end = _MEDIA_END.search(url.partition("?")[0])
    if end is None:
        return None
    return f"audio/{end[1].lower()}" if end[1] else f"video/{end[2].lower()}"


def is_image(declared: object, url: object) -> bool:
    if isinstance(declared, str) and declared:
        return declared.lower().startswith("image")
    return isinstance(url, str) and bool(_IMAGE_END.search(url.partition("?")[0]))


def newest(entries: list[_Raw], most: int, when: Callable[[_Raw], datetime | None]) -> list[_Raw]:
    """At most that many, in their order: the latest ones if they have dates, else the first ones."""
    if len(entries) <= most:
        return entries
    dates = [when(entry) or _LONG_AGO for entry in entries]
    places = sorted(range(len(entries)), key=dates.__getitem__, reverse=True)[:most]
    return [entries[place] for place in sorted(places)]


def categories(names: Iterable[object]) -> list[str]:
    found = (line(name, longest=_LONGEST_CATEGORY) for name in names)
    return list(dict.fromkeys(name for name in found if name))[:_MOST_CATEGORIES]


def language(text: object) -> str | None:
    """`en`, `pt-BR` …"""
    name = text.strip().replace("_", "-") if isinstance(text, str) else ""
    return name if _LANGUAGE.fullmatch(name) else None


def text_or_none(text: object, *, longest: int = 1000) -> str | None:
    return line(text, longest=longest) or None
