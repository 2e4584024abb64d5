"""What people wrote elsewhere, before it is stored: HTML without anything active, titles without HTML."""

import re

import nh3

_TAGS = {
    *("p", "br", "hr", "b", "strong", "i", "em", "u", "s", "del", "ins", "sub", "sup", "small"),
    *("a", "blockquote", "q", "cite", "code", "pre", "ul", "ol", "li", "dl", "dt", "dd", "span"),
}
_LONGEST_HTML = 50_000
_LONGEST_LINE = 1000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>|<!--.*?-->", re.DOTALL)


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


def plain_line(text: str, *, longest: int = _LONGEST_LINE) -> str:
    """One line of plain text: no markup, no control characters, no runs of blanks."""
    without = _MARKUP.sub("", text)
    printable = "".join(c if c.isprintable() else " " for c in without)
    return " ".join(printable.split())[:longest]
