"""The words of a feed's HTML, without markup."""

import html as entities
import re

LONGEST_TEXT = 500_000
_BLOCK = re.compile(
    r"<(?:/?(?:p|div|section|article|header|footer|h[1-6]|ul|ol|dl|li|dt|dd|blockquote|pre|table|tr|td|th|figure"
    r"|figcaption)|br|hr)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_INLINE = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")


def text_of_html(html: str | None) -> str:
    """The words of a feed's HTML, one paragraph per line."""
    without = _INLINE.sub("", _BLOCK.sub("\n", _without_comments((html or "")[:LONGEST_TEXT])))
    lines = (" ".join(line.split()) for line in entities.unescape(without).splitlines())
    return "\n".join(line for line in lines if line)


def _without_comments(html: str) -> str:
    kept, at = [], 0
    while (start := html.find("<!--", at)) >= 0 and (end := html.find("-->", start + 4)) >= 0:
        kept.append(html[at:start])
        at = end + 3
    return "".join(kept) + html[at:]
