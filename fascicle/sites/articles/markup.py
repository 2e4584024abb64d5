"""Prepares a page's tree for the search of its text: misleading parts are removed, links are noted."""

import re
from collections.abc import Iterator
from typing import Any

from fascicle.domain.summaries.article import length_in_words

# An lxml element; lxml has no types of its own.
Element = Any

_BLOCKS = frozenset(
    ("p", "li", "dt", "dd", "td", "th", "blockquote", "pre", "div", "section", "article", "figcaption")
) | {f"h{level}" for level in range(1, 7)}
_CONTAINERS = _BLOCKS | {
    "ul",
    "ol",
    "dl",
    "table",
    "tbody",
    "tr",
    "figure",
    "main",
    "form",
    "aside",
    "header",
}
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_TABLE_PARTS = frozenset(("table", "tbody", "thead", "tfoot", "tr", "td"))
# A cell with more text is no cell of a data table.
_LONGEST_DATUM = 400
_LINK_SHARE = 0.9
_WORDS_OF_A_HEADLINE = 4
_NOT_ALNUM = re.compile(r"[\W_]+")


def key_of(text: str) -> str:
    """Only letters and digits, so that the same words are equal in any formatting."""
    return _NOT_ALNUM.sub("", text).casefold()


def unfold_layout_tables(tree: Element) -> None:
    """Layout tables become plain blocks, because their cells contain whole articles."""
    for table in list(tree.iter("table")):
        if _is_layout(table):
            for part in _parts_of(table):
                part.tag = "div"


def drop_asides_in_sentences(tree: Element) -> None:
    """Drop pop-up cards of names: several links and nothing else within a paragraph."""
    for paragraph in list(tree.iter("p", "li")):
        # The innermost elements first: the outer ones contain the name itself.
        for span in reversed(list(paragraph.iter("span", "div"))):
            links = [link for link in span.iter("a") if words_in(link)]
            if (
                len(links) >= 3
                and _is_all_links(span, links)
                and len(words_in(span)) < len(words_in(paragraph))
            ):
                _drop(span)


class Links:
    """The texts of a page that are only links, and those that are headings; found by a line's `key_of`."""

    def __init__(self, tree: Element = ()) -> None:
        self.linked: set[str] = set()
        self.headings: set[str] = set()
        self.share: dict[str, float] = {}
        self._headlines: set[str] = set()
        self._order: list[str] = []
        for block in _leaf_blocks(tree) if len(tree) else ():
            text = words_in(block)
            if text:
                self.note(text, _link_share(block, text), is_heading=block.tag in _HEADINGS)

    def note(self, text: str, share: float, *, is_heading: bool) -> None:
        """Note a block of the page; call it in the page's order. `share` of the block is links."""
        key = key_of(text)
        if not key:
            return
        self._order.append(key)
        self.share[key] = share
        if share >= _LINK_SHARE:
            self.linked.add(key)
            if is_heading or length_in_words(text) >= _WORDS_OF_A_HEADLINE:
                self._headlines.add(key)
        if is_heading:
            self.headings.add(key)

    def words_linked(self, lines: list[str]) -> int:
        """The words in lines that are only links."""
        return sum(length_in_words(line) for line in lines if key_of(line) in self.linked)

    def headlines_among(self, lines: list[str]) -> int:
        """The number of linked headlines with one of the lines below them, as teasers have."""
        wanted = {key_of(line) for line in lines} - self.linked
        count, is_under_headline = 0, False
        for key in self._order:
            if key in self._headlines:
                is_under_headline = True
            elif key in wanted:
                count += is_under_headline
                is_under_headline = False
        return count


def words_in(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def _is_layout(table: Element) -> bool:
    if (table.get("role") or "").lower() in ("presentation", "none"):
        return True
    cells = [part for part in _parts_of(table) if part.tag == "td"]
    return any(len(words_in(cell)) > _LONGEST_DATUM for cell in cells)


def _parts_of(table: Element) -> list[Element]:
    """The table and its own rows and cells, without those of inner tables."""
    found, waiting = [], [table]
    while waiting:
        part = waiting.pop()
        found.append(part)
        if part.tag != "td":
            waiting += [child for child in part if child.tag in _TABLE_PARTS and child.tag != "table"]
    return found


def _leaf_blocks(tree: Element) -> Iterator[Element]:
    """Blocks that contain no other blocks, and links that are siblings of blocks."""
    has_blocks: dict[Element, bool] = {}  # a list may hold thousands of links
    for element in tree.iter(*_BLOCKS, "a"):
        if element.tag != "a":
            if next((inner for inner in element.iter(*_CONTAINERS) if inner is not element), None) is None:
                yield element
            continue
        parent = element.getparent()
        if parent is not None and parent not in has_blocks:
            has_blocks[parent] = any(child.tag in _CONTAINERS for child in parent)
        if has_blocks.get(parent):
            yield element


def _link_share(block: Element, text: str) -> float:
    if block.tag == "a" or next(block.iterancestors("a"), None) is not None:
        return 1.0
    linked = sum(len(words_in(link)) for link in block.iter("a"))
    return min(1.0, linked / len(text))


def _is_all_links(span: Element, links: list[Element]) -> bool:
    return len(key_of("".join(map(words_in, links)))) >= _LINK_SHARE * len(key_of(words_in(span)))


def _drop(element: Element) -> None:
    """Remove the element, but keep the text after it."""
    parent = element.getparent()
    if parent is None:
        return
    before, tail = element.getprevious(), element.tail or ""
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    parent.remove(element)
