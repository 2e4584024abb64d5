"""The label that a site prints on a chapter: its number, and the rest, which is its title."""

import re

from fascicle.domain.series.chapter_title import number_in_title

_NUMBER = r"\d{1,5}(?:\.\d{1,4})?"
_HEADING = re.compile(
    rf"\s*(?:(?:chapter|chap|ch|episode|ep)\b\.?\s*#?{_NUMBER}\b|#?{_NUMBER}(?=\s*$|\s*[-:–]))",
    re.IGNORECASE | re.ASCII,
)


def label_number(label: str | None, series: str = "") -> str | None:
    """The number as the label writes it: `Chapter 12.5` → `12.5`, `Ep. 19a` → `19a`; None: it has none."""
    found = number_in_title(label or "", series or None)
    return None if found is None else found.raw


def label_title(label: str | None) -> str | None:
    """The label without the chapter's number: `Chapter 12: Rain` → `Rain`."""
    match = _HEADING.match(label or "")
    return (label or "")[match.end() if match else 0 :].strip(" -:–") or None
