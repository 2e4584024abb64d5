"""When a site wants its feed to be read again."""

import re
from collections.abc import Mapping
from datetime import datetime

from fascicle.domain.instants import mail_date

_LONGEST = 30 * 86_400
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,12})\"?\s*(?:,|$)", re.IGNORECASE)
_NOT_KEPT = re.compile(r"\bno-(?:cache|store)\b", re.IGNORECASE)


def patience_seconds(headers: Mapping[str, str], ttl_seconds: int | None, *, now: datetime) -> int | None:
    """The longest time that Retry-After, cache headers or the feed's own ttl ask for; None: none does."""
    from fascicle.net.answers import retry_after  # not needed in the processes that read feeds

    named = {name.lower(): value for name, value in headers.items()}
    asked = (retry_after(named), _kept(named, now), ttl_seconds)
    longest = max((seconds for seconds in asked if seconds is not None), default=0)
    return min(int(longest), _LONGEST) if longest >= 1 else None


def _kept(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long a cache may keep the answer. `max-age` goes before `Expires`."""
    control = headers.get("cache-control", "")
    if _NOT_KEPT.search(control):
        return None
    if age := _MAX_AGE.search(control):
        return float(age[1])
    return _until(headers.get("expires"), now)


def _until(expires: str | None, now: datetime) -> float | None:
    moment = mail_date(expires)
    return None if moment is None else (moment - now).total_seconds()
