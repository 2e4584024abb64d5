"""Text without markup: of a whole page its main part, of a feed's HTML all of it."""

import html as entities
import re
from typing import Any

from fascicle.sites.markup import would_take_minutes
from fascicle.sites.pages.decoding import decoded

# Longer pages are lists or books; their beginning says enough.
LONGEST_PAGE = 2_000_000
LONGEST_TEXT = 500_000
# Looking for the main text takes a tenth of a millisecond for each tag.
_MOST_MARKS = 40_000
_SHORTEST_TEXT = 80
_BLOCK = re.compile(
    r"<(?:/?(?:p|div|section|article|header|footer|h[1-6]|ul|ol|dl|li|dt|dd|blockquote|pre|table|tr|td|th|figure"
    r"|figcaption)|br|hr)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_INLINE = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")


def page_text(html: bytes, url: str, content_type: str | None = None) -> str | None:
    """The page's main text, a paragraph a line; None: none to speak of. Blocks: call in a thread."""
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


def text_of_html(html: str | None) -> str:
    """The words of a feed's HTML, a paragraph a line."""
    without = _INLINE.sub("", _BLOCK.sub("\n", _without_comments((html or "")[:LONGEST_TEXT])))
    lines = (" ".join(line.split()) for line in entities.unescape(without).splitlines())
    return "\n".join(line for line in lines if line)


def _without_comments(html: str) -> str:
    kept, at = [], 0
    while (start := html.find("<!--", at)) >= 0 and (end := html.find("-->", start + 4)) >= 0:
        kept.append(html[at:start])
        at = end + 3
    return "".join(kept) + html[at:]
