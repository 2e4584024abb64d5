"""The main text of a page. It parses: use it only in a parsing process."""

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
    """The page's main text, one paragraph per line; None: there is hardly any."""
    body = beginning_of_page(html)
    if would_take_minutes(body):
        return None
    text = extracted(decoded(body, content_type), url, fast=True, include_tables=False)
    if len(text) < _SHORTEST_TEXT:
        return None
    return text.replace("\0", "")[:LONGEST_TEXT]


def beginning_of_page(html: bytes) -> bytes:
    """The part of a page that is read, limited in bytes and tags."""
    parts = html[:LONGEST_PAGE].split(b"<", _MOST_MARKS + 1)
    return b"<".join(parts[: _MOST_MARKS + 1])


def extracted(page: Any, url: str, **options: Any) -> str:
    """Trafilatura's main text of a page, given as HTML or as a tree; empty: none."""
    # The import takes half a second, so it is done only where pages are read.
    from trafilatura import extract

    return (
        extract(
            page, url=url, include_comments=False, include_formatting=False, with_metadata=False, **options
        )
        or ""
    )
