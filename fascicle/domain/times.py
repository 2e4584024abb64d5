"""Times as people write them. A time without a zone is refused, not guessed."""

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fascicle.domain.errors import UsageError
from fascicle.domain.instants import instant

_IN = re.compile(r"\+(\d{1,6})\s*([smhd])")
_FARTHEST = timedelta(days=3653)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]*")
_EXAMPLES = "2026-12-24T18:00+01:00, 2026-12-24T17:00Z, '2026-12-24 18:00 Europe/Berlin' or +90m"


def parse_time(text: str, *, zone: str | None, now: datetime) -> datetime:
    """The instant meant, in UTC. `zone` is for times that name none; without it such a time is an error.

    A local time that the clocks skip is moved on by the gap; of one that comes twice, the first is meant.
    """
    text = text.strip()
    if text == "now":
        return now
    if relative := _IN.fullmatch(text):
        return _in_range(now + timedelta(**{_UNITS[relative[2]]: int(relative[1])}), text, now)
    *written, last = text.rsplit(maxsplit=1) or [""]
    if written and _ZONE_NAME.fullmatch(last) and last.upper() != "T":
        text, zone = written[0], last
    moment = _read(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(zone, text))
    return _in_range(moment, text, now)


def future_time(text: str, *, zone: str | None, now: datetime) -> datetime:
    """`parse_time` for something that is still to happen."""
    when = parse_time(text, zone=zone, now=now)
    if when < now:
        raise UsageError(
            "time_in_the_past",
            f"{when:%Y-%m-%d %H:%M} UTC is in the past. Give a later time, or: fascicle post publish-now",
        )
    return when


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("wrong_time", f"{text!r} is no time. Write it like {_EXAMPLES}.") from None


def _zone(name: str | None, text: str) -> ZoneInfo:
    if name is None:
        raise UsageError(
            "time_without_zone",
            f"{text!r} has no time zone. Write it like {_EXAMPLES}, "
            "or give the account's user a zone: fascicle user set USER --time-zone Europe/Berlin",
        )
    return zone_named(name)


def zone_named(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            "wrong_time_zone", f"{name!r} is no time zone: use names such as Europe/Berlin."
        ) from None


def _in_range(moment: datetime, text: str, now: datetime) -> datetime:
    in_utc = instant(moment)
    if in_utc is None:
        raise UsageError("wrong_time", f"{text!r} is beyond the calendar.")
    if in_utc - now > _FARTHEST:
        raise UsageError("wrong_time", f"{text!r} is more than ten years away.")
    return in_utc
