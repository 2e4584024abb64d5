"""What messages say."""

from collections.abc import Sequence
from typing import Protocol

from fascicle.runtime.notifier import Message

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
    chapter = f"Chapter {told.number}" if told.number else "A new chapter"
    named = f"{chapter}: {told.title}" if told.title else chapter
    return Message(title=f"{told.series}: {chapter}", body=f"{named}\n{told.link or ''}")


def digest_message(lines: Sequence[Told]) -> Message:
    """One line a chapter; the end of a very long digest is only counted."""
    shown = [_line(told) for told in lines[:_MOST_LINES]]
    rest = len(lines) - len(shown)
    if rest > 0:
        shown.append(f"… and {rest} more")
    count = f"{len(lines)} new chapters" if len(lines) != 1 else "1 new chapter"
    series = {told.series for told in lines}
    where = f" of {next(iter(series))}" if len(series) == 1 else ""
    return Message(title=f"{count}{where}", body="\n".join(shown))


def _line(told: Told) -> str:
    chapter = told.number or "new chapter"
    named = f"{told.series} {chapter}" + (f": {told.title}" if told.title else "")
    return f"{named}\n  {told.link}" if told.link else named
