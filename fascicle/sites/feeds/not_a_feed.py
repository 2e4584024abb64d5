"""Describes for people a document that is no feed."""

import re

from fascicle.domain.errors import PermanentError
from fascicle.domain.urls import place
from fascicle.sites.feeds.document import PAGE_ROOTS, root_start
from fascicle.sites.feeds.fields import line

_TITLE = re.compile(r"<title[^<>]{0,200}>([^<]{0,300})", re.IGNORECASE)
_TAG = re.compile(r"<((?:[\w.-]+:)?([A-Za-z][\w.-]*))")
_TROUBLE = re.compile(
    r"\b(?:4[0-2][0-9]|5[0-3][0-9]|error|not found|forbidden|denied|moved|unavailable)\b"
    r"|just a moment|attention required",
    re.IGNORECASE,
)
_PAGE_TAGS = PAGE_ROOTS | {"title", "meta", "script", "div", "p", "h1", "center"}


def not_a_feed(text: str, url: str) -> PermanentError:
    return PermanentError("not_a_feed", f"{place(url)} answered {_description(text)}.")


def _description(text: str) -> str:
    bare = text.strip("\ufeff\0 \t\r\n")
    if not bare:
        return "an empty document"
    if bare[0] in "{[":
        return "JSON that is no feed"
    tag = _TAG.match(text, root_start(text)) or _TAG.search(text[:10_000])
    if tag is None:
        return f"text that is no feed: {line(bare[:60])!r}"
    if tag[2].lower() in _PAGE_TAGS or "<html" in text[:10_000].lower():
        return _page(text)
    if tag[2].lower() == "opml":
        return "a list of feeds (OPML), not a feed: import it instead"
    return f"XML that is no feed: it begins with <{tag[1][:50]}>"


def _page(text: str) -> str:
    found = _TITLE.search(text[:100_000])
    title = line(found[1], longest=100) if found else ""
    kind = "an HTML error page" if _TROUBLE.search(title) else "an HTML page"
    named = f" (“{title}”)" if title else ""
    return f"{kind}{named}, not a feed"
