"""Lines of plain text out of what people wrote elsewhere. Nothing is parsed, only so much is looked at."""

import re

_LONGEST_LINE = 1000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.{0,300}?-->", re.DOTALL)
# Of a line so much is looked at, for each character that is kept of it.
_MARKUP_SHARE = 20
# A tag that is never closed: a browser would close it with whatever stands behind.
_OPEN_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
# Of tags within tags; nobody writes deeper ones in good faith.
_DEEPEST = 5


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
