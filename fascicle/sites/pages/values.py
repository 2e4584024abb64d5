"""Cleans values of unknown origin, from pages and from services' answers, for storing."""

import re
from datetime import datetime
from typing import Any

from fascicle.domain.plain_text import plain_line
from fascicle.sites import fields

LONGEST_LINE = 500
LONGEST_DESCRIPTION = 2000
# Ten days: a longer duration is a mistake, or in milliseconds.
_LONGEST_SECONDS = 864_000
_ISO_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,3})D)?(?:T(?:(?P<hours>\d{1,4})H)?(?:(?P<minutes>\d{1,5})M)?"
    r"(?:(?P<seconds>\d{1,7})(?:[.,]\d+)?S)?)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:(?P<hours>\d{1,3}):)?(?P<minutes>\d{1,3}):(?P<seconds>\d{2})")
_NUMBER = re.compile(r"(?P<seconds>\d{1,7})(?:\.\d+)?")
_IN_SECONDS = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


def line(value: Any, *, longest: int = LONGEST_LINE) -> str | None:
    """One line of plain text; blank counts as absent."""
    if not isinstance(value, str):
        return None
    return plain_line(value[: longest * 4], longest=longest).strip() or None


def description(value: Any) -> str | None:
    return line(value, longest=LONGEST_DESCRIPTION)


def address(value: Any, page: str) -> str | None:
    """An absolute web address. JSON may contain lone surrogates; such an address is refused."""
    found = fields.address(value, page)
    return found if found is not None and found.isprintable() else None


def time(value: Any) -> datetime | None:
    """An ISO time between 1990 and 2100: pages use other years to say that there is none."""
    parsed = fields.time(value.strip() if isinstance(value, str) else None)
    return parsed if parsed is not None and 1990 <= parsed.year < 2100 else None


def duration(value: Any) -> int | None:
    """Seconds from `PT4M13S`, from `4:13` or from a number of seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = int(value) if 0 < value <= _LONGEST_SECONDS else 0
    elif isinstance(value, str):
        seconds = _seconds(value.strip()[:40])
    else:
        seconds = 0
    return seconds if 0 < seconds <= _LONGEST_SECONDS else None


def _seconds(text: str) -> int:
    for form in (_ISO_DURATION, _CLOCK, _NUMBER):
        if match := form.fullmatch(text):
            return sum(int(number or 0) * _IN_SECONDS[part] for part, number in match.groupdict().items())
    return 0
