"""Estimates how much HTML grows by parsing: unclosed formatting elements are repeated in each new block.

45 kB of `<p><b id=0>…<b id=k></p>` and m times `<p>x</p>` become k·m elements. The estimate does not parse
and takes linear time.
"""

import re
from collections import Counter

# So few open elements are usual and not counted: cards that are one link, a page in one font.
_USUAL = 8
_USUAL_BYTES = 4_000
MOST_ELEMENTS = 200_000
_MOST_BYTES = 20_000_000
# The parser repeats no more than three equal elements.
_MOST_ALIKE = 3
_TAG = re.compile(rb"<(/?)([a-zA-Z][^\s/>]*)([^>]*)")
_FORMATTING = frozenset(
    (b"b", b"big", b"code", b"em", b"font", b"i", b"s", b"small", b"strike", b"strong", b"tt", b"u")
)
# An element of these ends the one before it.
_SINGLE = frozenset((b"a", b"nobr"))


def grows_monstrous(body: bytes) -> bool:
    """Would a parser repeat more elements than any page has in good faith?"""
    opened = _Opened()
    elements = size = 0
    for closing, name, attributes in _TAG.findall(body):
        name = name.lower()
        if closing:
            opened.close(name)
        elif name in _SINGLE:
            opened.close(name)
            opened.open(name, attributes)
        elif name in _FORMATTING:
            opened.open(name, attributes)
            continue
        if opened.count > _USUAL or opened.size > _USUAL_BYTES:
            elements += opened.count
            size += opened.size
            if elements > MOST_ELEMENTS or size > _MOST_BYTES:
                return True
    return False


class _Opened:
    """Formatting elements that were opened and not closed."""

    def __init__(self) -> None:
        self.count = 0
        self.size = 0
        self._alike: Counter[tuple[bytes, bytes]] = Counter()
        self._by_name: dict[bytes, list[bytes]] = {}

    def open(self, name: bytes, attributes: bytes) -> None:
        if self._alike[name, attributes] >= _MOST_ALIKE:
            return
        self._alike[name, attributes] += 1
        self._by_name.setdefault(name, []).append(attributes)
        self.count += 1
        self.size += len(name) + len(attributes)

    def close(self, name: bytes) -> None:
        if not (attributes := self._by_name.get(name)):
            return
        closed = attributes.pop()
        self._alike[name, closed] -= 1
        self.count -= 1
        self.size -= len(name) + len(closed)
