"""Reads files that a person saved, mostly pages of fics."""

from pathlib import Path

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import Fic, FicKind, FicRef, SeriesPage

_LARGEST = 16_000_000


def page_in(file: Path) -> bytes:
    return content_of(file, most=_LARGEST, what="page of a fic")


def content_of(file: Path, *, most: int, what: str) -> bytes:
    try:
        with file.open("rb") as opened:
            body = opened.read(most + 1)
    except OSError as error:
        raise UsageError("wrong_usage", f"{file} cannot be read: {error.strerror or error}.") from error
    if len(body) > most:
        raise UsageError("too_large", f"{file} is larger than {most // 1_000_000} MB: that is no {what}.")
    return body


async def read_saved(body: bytes, ref: FicRef) -> Fic | SeriesPage:
    """Read a saved page without any request. The readers are imported here: most commands need none."""
    if ref.kind is FicKind.NEEDS_LOOKUP:
        raise UsageError("needs_lookup", "That is one part of a work. Give the address of the work itself.")
    if ref.site == "ao3":
        from fascicle.sandbox import Sandbox
        from fascicle.sites.fic import read_archive_page

        async with Sandbox(processes=1) as sandbox:
            return await read_archive_page(sandbox, ref, body)
    from fascicle.sites.fanficfare import FanFicFare

    async with FanFicFare(processes=1) as reader:
        return await reader.read_saved(ref, body)
