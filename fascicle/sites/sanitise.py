"""What people wrote elsewhere, before it is stored: HTML without anything active, titles without HTML."""

import re

import nh3

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
_LONGEST_HTML = 50_000
_LONGEST_ARTICLE = 200_000
_LONGEST_LINE = 1000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.{0,300}?-->", re.DOTALL)
# Of a line so much is looked at, for each character that is kept of it.
_MARKUP_SHARE = 20
# A tag that is never closed: a browser would close it with whatever stands behind.
_OPEN_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
# Of tags within tags; nobody writes deeper ones in good faith.
_DEEPEST = 5


def sanitised_html(html: str) -> str | None:
    """Harmless HTML; None when nothing is left of it."""
    clean = nh3.clean(
        html.replace("\0", "")[:_LONGEST_HTML],
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    ).strip()
    return clean or None


def sanitised_article(html: str) -> str | None:
    """Harmless HTML of an article, with its pictures and tables; None when nothing is left of it."""
    clean = nh3.clean(
        storable(html)[:_LONGEST_ARTICLE],
        tags=_ARTICLE_TAGS,
        attributes={"a": {"href", "title"}, "img": {"src", "alt", "title", "width", "height"}},
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    ).strip()
    return clean or None


def storable(text: str) -> str:
    """Without what a database cannot hold: NUL, and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def plain_line(text: str, *, longest: int = _LONGEST_LINE) -> str:
    """One line of plain text: no markup, no control characters, no runs of blanks."""
    printable = "".join(
        c if c.isprintable() else " " for c in _without_markup(text[: longest * _MARKUP_SHARE])
    )
    return " ".join(printable.split())[:longest].rstrip()


def _without_markup(text: str) -> str:
    """No tag is left, nor made of what was around another: `<scr<b>ipt>`."""
    for _ in range(_DEEPEST):
        bare = _MARKUP.sub("", text)
        if bare == text:
            break
        text = bare
    return _OPEN_TAG.sub("< ", text)
