"""The main text of a page. Parses: only for a parsing process."""

from typing import Any

from fascicle.sites.markup_guards import would_take_minutes
from fascicle.sites.pages.decoding import decoded
from fascicle.sites.pages.text import LONGEST_TEXT

# Longer pages are lists or books; their beginning says enough.
LONGEST_PAGE = 2_000_000
# Looking for the main text takes a tenth of a millisecond for each tag.
_MOST_MARKS = 40_000
_SHORTEST_TEXT = 80


def page_text(html: bytes, url: str, content_type: str | None = None) -> str | None:
    """The page's main text, a paragraph a line; None: none to speak of."""
    body = beginning_of_page(html)
    if would_take_minutes(body):
        return None
    text = extracted(decoded(body, content_type), url, fast=True, include_tables=False)
    if len(text) < _SHORTEST_TEXT:
        return None
    return text.replace("\0", "")[:LONGEST_TEXT]


def beginning_of_page(html: bytes) -> bytes:
    """As much of a page as is read: so many bytes, and so many tags."""
    parts = html[:LONGEST_PAGE].split(b"<", _MOST_MARKS + 1)
    return b"<".join(parts[: _MOST_MARKS + 1])


def extracted(page: Any, url: str, **options: Any) -> str:
    """What trafilatura takes for the main text of a page, given as HTML or as a tree; empty: none."""
    # Half a second to import, so only where pages are read.
    from trafilatura import extract

    return (
        extract(
            page, url=url, include_comments=False, include_formatting=False, with_metadata=False, **options
        )
        or ""
    )
