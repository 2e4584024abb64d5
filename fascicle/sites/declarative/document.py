"""A fetched page, HTML or JSON, as rows with values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import jsonpath
from selectolax.lexbor import LexborHTMLParser, LexborNode

from fascicle.domain.urls import place
from fascicle.net.answered_json import parsed_json
from fascicle.sites.declarative.pick import Pick
from fascicle.sites.markup import tree_of

# A longer value is cut before a regex is applied: no useful value is longer.
_LONGEST_VALUE = 20_000


class Row(Protocol):
    def values(self, pick: Pick) -> Iterator[str]:
        """All values at the place, refined."""
        ...


def value(row: Row, pick: Pick | None) -> str | None:
    """The first value at the place, if there is one."""
    return next(row.values(pick), None) if pick else None


class Document(Row, Protocol):
    def items(self, pick: Pick) -> Sequence[Row] | None:
        """The rows; None: nothing matches; an empty list: the list is there, but empty."""
        ...

    def has(self, pick: Pick) -> bool:
        """Does the pick match something? JSON's null, false and "" count as nothing."""
        ...

    def denies(self, pick: Pick) -> bool:
        """Does the document say explicitly that there is nothing, as JSON can with null or false?"""
        ...


@dataclass(frozen=True)
class FetchedPage:
    """A site's answer."""

    url: str
    status: int
    body: bytes

    @property
    def place(self) -> str:
        """The address for messages."""
        return place(self.url)

    def json(self) -> Any:
        return parsed_json(self.body, self.place, self.status)


def open_document(page: FetchedPage, *, is_json: bool) -> Document:
    return JsonDocument(page.json()) if is_json else HtmlDocument(tree_of(page.body, page.place))


@dataclass(frozen=True)
class HtmlRow:
    node: LexborNode

    def values(self, pick: Pick) -> Iterator[str]:
        for node in self.node.css(pick.css) if pick.css else [self.node]:
            found = node.attributes.get(pick.attr) if pick.attr else node.text(separator=" ")
            refined = pick.refine(" ".join((found or "")[:_LONGEST_VALUE].split()))
            if refined:
                yield refined


class HtmlDocument(HtmlRow):
    def __init__(self, tree: LexborHTMLParser) -> None:
        super().__init__(tree.root or LexborHTMLParser("<html></html>").css("html")[0])

    def items(self, pick: Pick) -> Sequence[Row] | None:
        return [HtmlRow(node) for node in self.node.css(pick.css or "")] or None

    def has(self, pick: Pick) -> bool:
        return bool(self.node.css_first(pick.css or ""))

    def denies(self, pick: Pick) -> bool:
        return False


@lru_cache(maxsize=1000)
def _compiled(path: str) -> jsonpath.JSONPath:
    compiled = jsonpath.compile(path)
    assert isinstance(compiled, jsonpath.JSONPath)
    return compiled


@dataclass(frozen=True)
class JsonRow:
    data: Any

    def values(self, pick: Pick) -> Iterator[str]:
        for found in self._found(pick.path or ""):
            if isinstance(found, str | int | float) and not isinstance(found, bool):
                refined = pick.refine(str(found)[:_LONGEST_VALUE].strip())
                if refined:
                    yield refined

    def _found(self, path: str) -> list[Any]:
        if not isinstance(self.data, dict | list):
            return []
        try:
            found: list[Any] = _compiled(path).findall(self.data)
        except jsonpath.JSONPathError:  # the data does not fit the path at all, or is nested too deeply
            return []
        return found


class JsonDocument(JsonRow):
    def items(self, pick: Pick) -> Sequence[Row] | None:
        """`$.data[*]` and `$.data` mean the same: the entries of a list."""
        path = (pick.path or "").removesuffix("[*]")
        lists = [found for found in self._found(path) if isinstance(found, list)]
        return [JsonRow(entry) for entries in lists for entry in entries] if lists else None

    def has(self, pick: Pick) -> bool:
        return any(
            found is not None and found is not False and found != "" for found in self._found(pick.path or "")
        )

    def denies(self, pick: Pick) -> bool:
        return bool(self._found(pick.path or "")) and not self.has(pick)
