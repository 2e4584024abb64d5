"""A page of the archive's, for a parsing process."""

from typing import Any

from fascicle.domain.fics.fic import Fic, FicRef, SeriesPage
from fascicle.sites.ao3 import read_page


def read_saved_or_fetched(
    body: bytes, *, ref: dict[str, Any], status: int, headers: dict[str, str]
) -> Fic | SeriesPage:
    return read_page(body, FicRef.model_validate(ref), status=status, headers=headers)
