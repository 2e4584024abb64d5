"""A parsing process's result for one page of a list, and the error of a page that does not fit its file."""

from typing import Generic, TypeVar

from pydantic import BaseModel

from fascicle.domain.errors import PermanentError
from fascicle.domain.series.chapter import LatestEntry, Upload

T = TypeVar("T", Upload, LatestEntry)


class PageRead(BaseModel, Generic[T]):
    """One page: its usable entries, and the reasons for the skipped ones."""

    rows: int = 0
    entries: list[T] = []
    skipped: list[str] = []
    total: int | None = None
    next_cursor: str | None = None
    doubtful_end: bool = False
    """No next page was found, but the page does not say that it is the last one."""


def broken(file: str, what: str) -> PermanentError:
    return PermanentError(
        "adapter_broken",
        f"{file}: {what}. The site has changed or the adapter is wrong: "
        f"`fascicle site test {file} URL` shows what it finds.",
    )
