"""Dates from other sites. An impossible date counts as none, so that it does not break its whole record.

The ends of the calendar are special: PostgreSQL's driver takes the first instant for `-infinity`, and a time
zone may move a date beyond the last one.
"""

from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated

from pydantic import AfterValidator

_YEARS = range(1900, 2201)


def instant(moment: datetime | None) -> datetime | None:
    """The moment in UTC; None outside the years 1900 to 2200. One without a zone is taken as UTC."""
    if moment is None or moment.year not in _YEARS:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def day(found: date | None) -> date | None:
    """The day; None outside the same years."""
    return found if found is not None and found.year in _YEARS else None


def mail_date(text: str | None) -> datetime | None:
    """A date in the format of mails and HTTP headers."""
    try:
        return instant(parsedate_to_datetime(text)) if text else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# For models with dates from other sites, and from rows that an older release stored unchecked.
Instant = Annotated[datetime | None, AfterValidator(instant)]
Day = Annotated[date | None, AfterValidator(day)]
