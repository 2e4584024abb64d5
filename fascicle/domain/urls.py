"""URLs that people hand in: checked before anything is done with them."""

import re
from urllib.parse import SplitResult, urlsplit

from fascicle.domain.errors import UsageError

MAX_URL_LENGTH = 2048
_QUERY = re.compile("[?#]")
_USER = re.compile("(?<=//)[^/]*@")


def parse_http_url(text: str) -> SplitResult:
    """The parts of an http(s) URL, or a UsageError that says what is wrong with it."""
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_URL_LENGTH:
        raise UsageError("invalid_url", "The URL is empty or longer than 2048 characters.")
    if any(ord(c) < 33 or ord(c) == 127 for c in stripped):
        raise UsageError("invalid_url", "The URL contains spaces or control characters.")
    try:
        parts = urlsplit(stripped)
        _ = parts.port
    except ValueError as error:
        raise UsageError("invalid_url", f"{place(stripped)!r} is not a URL: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            "invalid_url",
            f"{place(stripped)!r} is not a web address. It should begin with https:// and name a site.",
        )
    if parts.username or parts.password:
        raise UsageError("invalid_url", "The URL carries a user name or password; take it out.")
    return parts


def place(url: str) -> str:
    """An address for messages, valid or not, without the parts that may be secret."""
    return _USER.sub("", _QUERY.split(url, maxsplit=1)[0])


def page_host(url: str | None) -> str:
    """The host of an address; empty if there is none."""
    try:
        return urlsplit(url or "").hostname or ""
    except ValueError:
        return ""


def bare_host(url: str) -> str:
    """The host without `www.`, with its port."""
    try:
        return urlsplit(url).netloc.lower().removeprefix("www.")
    except ValueError:
        return ""


def address_title(url: str) -> str:
    """An address as a name for people, without its query: a private feed's secret is there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no title)"
    return f"{parts.hostname or ''}{parts.path.rstrip('/')}" or "(no title)"
