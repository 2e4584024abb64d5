"""The texts of messages about chapters."""

from collections.abc import Sequence
from typing import Protocol

from fascicle.domain.harmless_text import one_line
from fascicle.services.notifications.message import Message

_MOST_LINES = 40


class Told(Protocol):
    @property
    def series(self) -> str: ...
    @property
    def number(self) -> str | None: ...
    @property
    def title(self) -> str | None: ...
    @property
    def link(self) -> str | None: ...


def chapter_message(told: Told) -> Message:
    chapter = f"Chapter {one_line(told.number)}" if told.number else "A new chapter"
    named = f"{chapter}: {one_line(told.title)}" if told.title else chapter
    return Message(
        title=f"{one_line(told.series)}: {chapter}", body=f"{named}\n{told.link or ''}", links=_links([told])
    )


def digest_message(lines: Sequence[Told]) -> Message:
    """One line per chapter; a very long digest ends with the number of the remaining chapters."""
    shown = [_line(told) for told in lines[:_MOST_LINES]]
    rest = len(lines) - len(shown)
    if rest > 0:
        shown.append(f"… and {rest} more")
    count = f"{len(lines)} new chapters" if len(lines) != 1 else "1 new chapter"
    series = {told.series for told in lines}
    where = f" of {one_line(next(iter(series)))}" if len(series) == 1 else ""
    return Message(title=f"{count}{where}", body="\n".join(shown), links=_links(lines))


def _line(told: Told) -> str:
    chapter = one_line(told.number) if told.number else "new chapter"
    named = f"{one_line(told.series)} {chapter}" + (f": {one_line(told.title)}" if told.title else "")
    return f"{named}\n  {told.link}" if told.link else named


def _links(lines: Sequence[Told]) -> frozenset[str]:
    return frozenset(told.link for told in lines if told.link)
