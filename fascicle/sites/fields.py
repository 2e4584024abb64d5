"""Cleans values from sites for storing: text, numbers, times and addresses of unknown origin."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from fascicle.domain.errors import UsageError
from fascicle.domain.instants import instant
from fascicle.domain.urls import parse_http_url

LONGEST_TEXT = 500
LONGEST_ADDRESS = 2000


def text(value: Any) -> str | None:
    """Trimmed text without control characters, at most 500 long; blank counts as absent."""
    if not isinstance(value, str):
        return None
    cleaned = value if value.isprintable() else "".join(c if c.isprintable() else " " for c in value)
    return cleaned.strip()[:LONGEST_TEXT] or None


def count(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1_000_000 else None


def time(value: Any) -> datetime | None:
    """An ISO time; one without a zone is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        return instant(datetime.fromisoformat(value))
    except ValueError:
        return None


def unix_time(value: Any, *, per_second: int = 1) -> datetime | None:
    """A UNIX time as number or digits; sites write 0 for no time."""
    try:
        seconds = float(value) / per_second
        return instant(datetime.fromtimestamp(seconds, UTC)) if seconds > 0 else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def address(value: Any, page: str) -> str | None:
    """An absolute web address; a relative one is resolved against its page. None: not a web address."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        absolute = urljoin(page, value.strip())
        parse_http_url(absolute)
    except (ValueError, UsageError):
        return None
    return absolute if len(absolute) <= LONGEST_ADDRESS else None
