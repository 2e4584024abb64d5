"""A page's tree, for the parsing processes (fascicle.sandbox)."""

from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from fascicle.domain.errors import RetryableError
from fascicle.sites.markup_guards import is_monstrous


def tree_of(
    body: bytes, place: str, *, is_garbage: Callable[[bytes], bool] | None = None
) -> LexborHTMLParser:
    """The page's tree, or a retryable error that names its `place`: sites recover from such pages."""
    if (is_garbage or is_monstrous)(body):
        raise RetryableError("bad_answer", f"{place} answered what is no page a browser could show.")
    return LexborHTMLParser(body)
