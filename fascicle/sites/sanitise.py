"""Sanitises HTML of other sites for storing: it has no active parts and does not grow."""

from html import escape, unescape

import nh3

from fascicle.domain.plain_text import plain_line, storable
from fascicle.sites.markup_growth import grows_monstrous
from fascicle.sites.markup_guards import is_too_deep

_TAGS = {
    *("p", "br", "hr", "b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small"),
    *("a", "blockquote", "q", "cite", "code", "pre", "ul", "ol", "li", "dl", "dt", "dd", "span"),
}
_ARTICLE_TAGS = {
    *_TAGS,
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "div",
        "section",
        "article",
        "aside",
        "img",
        "figure",
        "figcaption",
    ),
    *(
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "abbr",
        "mark",
        "kbd",
        "time",
        "details",
        "summary",
    ),
}
_ARTICLE_ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title", "width", "height"}}
_LONGEST_HTML = 50_000
_LONGEST_ARTICLE = 200_000
# Cleaning adds attributes to each link, so the result may be longer.
_LONGEST_CLEAN = 500_000
_LONGEST_PLAIN = 5000
_DEEPEST_HTML = 5000


def sanitised_html(html: str) -> str | None:
    """Harmless HTML; None if nothing is left. It parses: use it only in a parsing process."""
    return _cleaned(html[:_LONGEST_HTML], _TAGS, {"a": {"href"}})


def sanitised_article(html: str) -> str | None:
    """Harmless HTML of an article, with its pictures and tables; None if nothing is left. It parses: use it
    only in a parsing process."""
    return _cleaned(html[:_LONGEST_ARTICLE], _ARTICLE_TAGS, _ARTICLE_ATTRIBUTES)


def plain_html(html: str) -> str | None:
    """Only the words, as HTML, without parsing; None if there are none."""
    # Long markup may come before the words, and the cut may be in the middle of a tag.
    seen = html[:_LONGEST_ARTICLE]
    seen = seen[: seen.rfind("<")] if seen.rfind("<") > seen.rfind(">") else seen
    line = plain_line(seen.replace("<", " <"), longest=_LONGEST_ARTICLE)[:_LONGEST_PLAIN]
    return escape(storable(unescape(line)), quote=False) or None


def would_grow(html: str) -> bool:
    """Would parsing make it far larger than it was written?"""
    body = html[:_LONGEST_ARTICLE].encode("utf-8", "replace")
    return grows_monstrous(body) or is_too_deep(body, _DEEPEST_HTML)


def _cleaned(html: str, tags: set[str], attributes: dict[str, set[str]]) -> str | None:
    """HTML that would grow, or has grown, too much is reduced to its words."""
    if would_grow(html):
        return plain_html(html)
    clean = nh3.clean(
        storable(html),
        tags=tags,
        attributes=attributes,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    ).strip()
    return plain_html(html) if len(clean) > _LONGEST_CLEAN else clean or None
