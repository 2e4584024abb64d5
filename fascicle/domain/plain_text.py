"""Lines of plain text from texts of other sites. There is no parser, and the input is cut to a limit."""

import re

_LONGEST_LINE = 1000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.{0,300}?-->", re.DOTALL)
# So many characters of the input are read for each character of the line.
_MARKUP_SHARE = 20
# A tag that is never closed: a browser would close it with the text behind it.
_OPEN_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
# The most levels of tags within tags; deeper ones are never written in good faith.
_DEEPEST = 5


def storable(text: str) -> str:
    """Without characters that a database cannot store: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def plain_line(text: str, *, longest: int = _LONGEST_LINE) -> str:
    """One line of plain text: no markup, no control characters, no runs of blanks."""
    printable = "".join(
        c if c.isprintable() else " " for c in _without_markup(text[: longest * _MARKUP_SHARE])
    )
    return " ".join(printable.split())[:longest].rstrip()


def _without_markup(text: str) -> str:
    """No tag is left, not even one that forms when another is removed: `<scr<b>ipt>`."""
    for _ in range(_DEEPEST):
        bare = _MARKUP.sub("", text)
        if bare == text:
            break
        text = bare
    return _OPEN_TAG.sub("< ", text)
