"""Chapter numbers in what sites print on a chapter. The one place to exchange the reading of titles."""

import re

from fascicle.domain.chapter_key import canonical_form, exact_form

_NUMBER = r"(\d{1,5}(?:\.\d{1,4})?)"
_AFTER_A_WORD = re.compile(
    rf"\b(?:chapter|chap|ch|episode|ep)\b\.?\s*#?{_NUMBER}\b", re.IGNORECASE | re.ASCII
)
_AT_THE_START = re.compile(rf"\s*#?{_NUMBER}(?=\s*$|\s*[-:–])", re.ASCII)


def label_number(label: str | None, series: str = "") -> str | None:
    """`Chapter 12.5` → `12.5`; None when there is no chapter number in it."""
    rest = (label or "").replace(series, " ") if series else label or ""
    match = _AFTER_A_WORD.search(rest) or _AT_THE_START.match(rest)
    return match[1] if match else None


def label_title(label: str | None) -> str | None:
    """What a label says beside the chapter's number: `Chapter 12: Rain` → `Rain`."""
    match = _AFTER_A_WORD.match(label or "") or _AT_THE_START.match(label or "")
    return (label or "")[match.end() if match else 0 :].strip(" -:–") or None


def key_of_title(title: str, series: str = "") -> str | None:
    """The chapter key (C5) of a chapter called so, or None when it has no number."""
    exact = exact_form(label_number(title, series))
    return None if exact is None else canonical_form(exact)
