"""A site's answer, and its meaning: two families of errors, or a time to come back."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from fascicle.domain.errors import MustWait, PermanentError, RetryableError
from fascicle.domain.harmless_text import one_line
from fascicle.domain.instants import mail_date
from fascicle.domain.urls import place
from fascicle.net.answered_json import parsed_json

# How long a ban (403) keeps us away if the site names no time, and the longest wait that a site may demand.
_BAN_SECONDS = 900.0
_LONGEST_WAIT = 24 * 3600.0
_STAMP = re.compile("[0-9]{1,12}")


@dataclass(frozen=True)
class Answer:
    status: int
    url: str
    headers: httpx.Headers
    body: bytes
    moved_to: str | None = None
    """The target of permanent redirects, as long as no other redirect came before them."""

    @property
    def place(self) -> str:
        """The address for messages."""
        return place(self.url)

    @property
    def not_modified(self) -> bool:
        return self.status == 304

    def json(self) -> Any:
        """The body as JSON."""
        return parsed_json(self.body, self.place, self.status)


def raise_for_status(answer: Answer) -> None:
    status = answer.status
    if status < 400:
        return
    said = f"{answer.place} answered {status}"
    if detail := _detail(answer):
        said += f": {detail}"
    wait = retry_after(answer.headers)
    if answer.headers.get("cf-mitigated", "").lower() == "challenge":
        said = f"{answer.place} wants to see a browser ({status})"
        raise MustWait("challenge", said, seconds=wait or _BAN_SECONDS, refused=True, http_status=status)
    if status == 429:
        raise MustWait("rate_limited", said, seconds=wait or 30.0, refused=True, http_status=status)
    if status >= 500 and wait is not None:
        raise MustWait("unavailable", said, seconds=wait, refused=True, http_status=status)
    if status == 403:
        raise MustWait("blocked", said, seconds=wait or _BAN_SECONDS, refused=True, http_status=status)
    if status in (404, 410):
        raise PermanentError("not_found", said, http_status=status)
    if status == 401:
        raise PermanentError("auth_failed", said, http_status=status)
    if status >= 500 or status == 408:
        raise RetryableError("server_error", said, http_status=status)
    raise PermanentError("bad_request", said, http_status=status)


def _detail(answer: Answer) -> str | None:
    """The first error of a JSON error body, if it has one; sites put the useful words there."""
    if "json" not in answer.headers.get("content-type", ""):
        return None
    try:
        errors = orjson.loads(answer.body)["errors"]
        return one_line(str(errors[0].get("detail") or errors[0].get("title")))[:200]
    except (orjson.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError):
        return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait: `Retry-After` as seconds or HTTP date, or MangaDex's UNIX timestamp."""
    wait = _seconds_or_date(headers.get("retry-after"))
    if wait is None and _STAMP.fullmatch(stamp := headers.get("x-ratelimit-retry-after", "")):
        wait = int(stamp) - time.time()
    return None if wait is None else min(max(wait, 0.0), _LONGEST_WAIT)


def _seconds_or_date(value: str | None) -> float | None:
    if value is None:
        return None
    if value.isascii() and value.strip().isdigit():
        return float(value)
    when = mail_date(value)
    return None if when is None else (when - datetime.now(UTC)).total_seconds()
