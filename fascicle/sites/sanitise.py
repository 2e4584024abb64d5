"""HTML that people wrote elsewhere, made fit to store: nothing active in it, and no more than was written."""

from html import escape, unescape

import nh3

from fascicle.sites.markup_growth import grows_monstrous
from fascicle.sites.markup_guards import is_too_deep
from fascicle.sites.plain_text import plain_line, storable

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
# Links grow by what is added to each.
_LONGEST_CLEAN = 500_000
_LONGEST_PLAIN = 5000
_DEEPEST_HTML = 5000


def sanitised_html(html: str) -> str | None:
    """Harmless HTML; None when nothing is left of it. Parses: only for a parsing process."""
    return _cleaned(html[:_LONGEST_HTML], _TAGS, {"a": {"href"}})


def sanitised_article(html: str) -> str | None:
    """Harmless HTML of an article, with its pictures and tables; None when nothing is left of it. Parses:
    only for a parsing process."""
    return _cleaned(html[:_LONGEST_ARTICLE], _ARTICLE_TAGS, _ARTICLE_ATTRIBUTES)


def plain_html(html: str) -> str | None:
    """The words alone, as HTML, of what is not to be parsed; None when there are none."""
    # What stands before the words may be long, and the cut may be in the middle of a tag.
    seen = html[:_LONGEST_ARTICLE]
    seen = seen[: seen.rfind("<")] if seen.rfind("<") > seen.rfind(">") else seen
    line = plain_line(seen.replace("<", " <"), longest=_LONGEST_ARTICLE)[:_LONGEST_PLAIN]
    return escape(storable(unescape(line)), quote=False) or None


def would_grow(html: str) -> bool:
    """Whether parsing it makes far more of it than anybody wrote."""
    body = html[:_LONGEST_ARTICLE].encode("utf-8", "replace")
    return grows_monstrous(body) or is_too_deep(body, _DEEPEST_HTML)


def _cleaned(html: str, tags: set[str], attributes: dict[str, set[str]]) -> str | None:
    """What would grow, or has grown, beyond measure is cut to its words."""
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
