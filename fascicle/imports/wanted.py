"""The series that a file asks for, in whatever format."""

import re
from collections.abc import Sized
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fascicle.domain.errors import UsageError
from fascicle.domain.urls import MAX_URL_LENGTH

MAX_ROWS = 20_000
MAX_TITLE = 500

_NUMBER = re.compile(r"(?:ch(?:apter)?\.?\s*)?(\d{1,6}(?:\.\d{1,3})?)(?:\s*/.*)?", re.ASCII | re.IGNORECASE)
_ID = re.compile(r"[1-9]\d{0,11}", re.ASCII)


@dataclass(frozen=True)
class Wanted:
    """One series of a file: by address, or else by title and the ids other trackers gave it."""

    title: str | None = None
    url: str | None = None
    other_titles: tuple[str, ...] = ()
    anilist_id: str | None = None
    mal_id: str | None = None
    read: Decimal | None = None
    """Everything up to this chapter was read."""

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(title for title in (self.title, *self.other_titles) if title))


@dataclass(frozen=True)
class Parsed:
    wanted: list[Wanted]
    notes: tuple[str, ...] = ()
    """Messages for the person about entries that were left out on purpose."""


def unusable(message: str) -> UsageError:
    return UsageError("unusable_file", message)


def check_size(series: Sized) -> None:
    if len(series) > MAX_ROWS:
        raise unusable(f"{len(series):,} series are too many for one file; the most are {MAX_ROWS:,}.")


def title_text(value: Any) -> str | None:
    """One line without control characters, at most 500 long; blank counts as absent."""
    if not isinstance(value, str):
        return None
    printable = "".join(c if c.isprintable() else " " for c in value[: 4 * MAX_TITLE])
    return " ".join(printable.split())[:MAX_TITLE] or None


def url_text(value: Any) -> str | None:
    """An address that can be shown. One that is too long is cut, but stays too long and is refused later."""
    if not isinstance(value, str) or not value.strip():
        return None
    return "".join(c if c.isprintable() else "�" for c in value.strip()[: MAX_URL_LENGTH + 1])


def chapter_number(value: Any) -> Decimal | None:
    """`12.5`, 12, `Ch. 12`, `12 / 40`; None for zero, which trackers write for "not begun"."""
    match = _NUMBER.fullmatch(str(value).strip()) if isinstance(value, str | int | float) else None
    number = Decimal(match[1]) if match else None
    return number or None


def tracker_id(value: Any) -> str | None:
    text = str(value).strip()
    return text if not isinstance(value, bool) and _ID.fullmatch(text) else None
