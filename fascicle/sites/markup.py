"""HTML of other people's sites, before it is parsed.

The parser takes time in the square of a page's depth and of a tag's length: garbage is kept from it.
"""

import re

from selectolax.lexbor import LexborHTMLParser

from fascicle.domain.errors import RetryableError

_LONGEST_TAG = 8_000
_DEEPEST = 10_000
_TAG = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_VOID = frozenset((b"br", b"hr", b"img", b"input", b"link", b"meta", b"wbr", b"col", b"area", b"source"))


def tree_of(body: bytes, place: str) -> LexborHTMLParser:
    """The page's tree, or an error that names the `place` it came from: sites recover from such pages."""
    if is_monstrous(body):
        raise RetryableError("bad_answer", f"{place} answered what is no page a browser could show.")
    return LexborHTMLParser(body)


def is_monstrous(body: bytes) -> bool:
    """Whether parsing it would take minutes."""
    return _is_overlong(body) or _is_too_deep(body)


def _is_overlong(body: bytes) -> bool:
    return any(len(p) > _LONGEST_TAG and b">" not in p[:_LONGEST_TAG] for p in body.split(b"<")[1:])


def _is_too_deep(body: bytes) -> bool:
    if body.count(b"<") <= _DEEPEST:
        return False
    depth = 0
    opened: dict[bytes, int] = {}
    for closing, name in _TAG.findall(body):
        if not closing and name not in _VOID:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
        elif opened.get(name, 0):
            opened[name] -= 1
            depth -= 1
        if depth > _DEEPEST:
            return True
    return False
