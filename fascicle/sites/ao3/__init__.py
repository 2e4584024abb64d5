"""The Archive of Our Own: reads its pages. Nothing here sends requests."""

from collections.abc import Mapping
from types import MappingProxyType

from fascicle.domain.fics.fic import Fic, FicRef, SeriesPage
from fascicle.sites.ao3.page import page_of
from fascicle.sites.ao3.series import read_series
from fascicle.sites.ao3.tree import broken
from fascicle.sites.ao3.work import read_work

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


def read_page(
    body: bytes, ref: FicRef, *, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> Fic | SeriesPage:
    """The requested work or page of a series; otherwise an error whose code is a FicCode."""
    kind, main = page_of(body, status, headers)
    if kind != ref.kind:
        raise broken(f"it is a {kind}, but a {ref.kind} was asked for")
    return read_work(main, ref) if kind == "work" else read_series(main, ref)
