"""Quick checks of untrusted HTML before it is parsed; the checks themselves do not parse.

The parser's time grows with the square of a page's depth and of a tag's attributes, its memory with the
product of unclosed elements and blocks. The parsing process has limits; a page refused here costs no process.
"""

import re

from fascicle.sites.markup_growth import grows_monstrous

_LONGEST_TAG = 8_000
_DEEPEST = 10_000
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# These have no contents, or the next one of their kind ends them.
_FLAT = frozenset(
    (
        *(b"br", b"hr", b"img", b"input", b"link", b"meta", b"wbr", b"col", b"area", b"source"),
        *(b"p", b"li", b"dt", b"dd", b"option", b"tbody", b"thead", b"tfoot", b"tr", b"td", b"th"),
    )
)


def is_monstrous(body: bytes) -> bool:
    """Can parsing it take minutes? A quick check, for sites whose pages have no endless tags."""
    return _is_overlong(body) or is_too_deep(body) or grows_monstrous(body)


def _is_overlong(body: bytes) -> bool:
    return any(len(p) > _LONGEST_TAG and b">" not in p[:_LONGEST_TAG] for p in body.split(b"<")[1:])


def is_too_deep(body: bytes, most: int = _DEEPEST) -> bool:
    if body.count(b"<") <= most:
        return False
    depth = _Depth()
    return any(depth.after(closing, name) > most for closing, name in _TAG.findall(body))


class _Depth:
    """The number of open tags. A closing tag without an open one is ignored."""

    def __init__(self) -> None:
        self._depth = 0
        self._opened: dict[bytes, int] = {}

    def after(self, closing: bytes, name: bytes) -> int:
        if not closing and name not in _FLAT:
            self._opened[name] = self._opened.get(name, 0) + 1
            self._depth += 1
        elif self._opened.get(name, 0):
            self._opened[name] -= 1
            self._depth -= 1
        return self._depth


# For pages of any site, which contain whole pictures and programs in their attributes.
_MARK = re.compile(rb"<(?:(!--)|([!?])|(/?)([a-zA-Z][^\s/>]*))")
_ATTRIBUTE = re.compile(rb"""[\s/]*[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?""")
_ENDS = {name: re.compile(rb"</" + name, re.IGNORECASE) for name in (b"script", b"style", b"textarea")}
_MOST_ATTRIBUTES = 2000


def would_take_minutes(body: bytes) -> bool:
    """Would parsing it take minutes or all memory? It reads the tags one by one."""
    if grows_monstrous(body):
        return True
    depth, position = _Depth(), 0
    while match := _MARK.search(body, position):
        comment, declaration, closing, name = match.groups()
        if comment or declaration:
            position = _after(body, b"-->" if comment else b">", match.end())
            continue
        attributes, position = _attributes(body, match.end())
        name = name.lower()
        if attributes > _MOST_ATTRIBUTES or depth.after(closing, name) > _DEEPEST:
            return True
        if not closing and name in _ENDS:
            end = _ENDS[name].search(body, position)
            position = end.start() if end else len(body)
    return False


def _attributes(body: bytes, position: int) -> tuple[int, int]:
    """The number of attributes, counted up to the limit, and the position after the tag."""
    count = 0
    while count <= _MOST_ATTRIBUTES and (match := _ATTRIBUTE.match(body, position)):
        count, position = count + 1, match.end()
    return count, position


def _after(body: bytes, mark: bytes, position: int) -> int:
    found = body.find(mark, position)
    return len(body) if found < 0 else found + len(mark)
