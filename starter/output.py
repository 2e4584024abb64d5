"""The output of the CLI: tables and colours for people, JSON for programs.

Text from people and sites may contain [brackets] and line breaks: all of it passes `plain` or `_cell` before
Rich gets it.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

# A pipe has no width, so do not fold lines for it.
_PIPE_WIDTH = 10_000
_NARROW = 100
_LEAST_WIDTH = 8

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
errors = Console(stderr=True, highlight=False, emoji=False)

# Columns whose text may be folded if the terminal is narrow.
_FOLDED = {
    "title",
    "detail",
    "channels",
    "series",
    "feed",
    "folder",
    "reason",
    "key",
    "sources",
    "job_key",
    "blocked_reason",
    "candidate",
    "why",
    "url",
    "file",
    "error",
    "last_result",
}

_STATE_COLOURS = {
    "open": "red", "half_open": "yellow", "closed": "green", "HOT": "red", "WARM": "yellow", "COLD": "cyan",
    "sent": "green", "failed": "red", "unconfirmed": "yellow", "pending": "cyan", "ok": "green",
    "FAIL": "red", "paused": "yellow", "completed": "green",
}  # fmt: skip


def print_json(value: Any) -> None:
    data = orjson.dumps(value, default=_plain_value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    sys.stdout.write(data.decode() + "\n")
    sys.stdout.flush()


def print_line(text: str) -> None:
    """Print a line with Rich's markup; text from others in it must have passed `plain`."""
    console.print(text, soft_wrap=True)


def print_prose(text: str) -> None:
    """Like `print_line`, but wrapped between words at the terminal's width; not wrapped in a pipe."""
    console.print(text)


def print_error(message: str) -> None:
    errors.print(f"[red]error:[/] {plain(message)}", soft_wrap=True)


def print_note(message: str) -> None:
    """Print a note to stderr, so that it does not mix with output for programs."""
    errors.print(f"[yellow]{plain(message)}[/]", soft_wrap=True)


def plain(text: Any) -> str:
    """Text from others, made harmless for Rich and the terminal."""
    return escape("".join(c if c.isprintable() or c == "\n" else "�" for c in str(text)))


def print_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, empty: str) -> None:
    """`columns` are keys of the rows; the headings derive from them."""
    listed = list(rows)
    if not listed:
        print_line(plain(empty))
        return
    gap = 1 if console.width < _NARROW else 2
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0))
    for column, width in _widths(columns, listed, gap).items():
        table.add_column(_heading(column), overflow="fold", width=width)
    for row in listed:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    console.print(table)


@contextmanager
def progress_bar(word: str, total: int | None) -> Iterator[Callable[[], None]]:
    """A bar on stderr if that is a terminal. Yields a function that advances the bar by one.

    `total` None: the total is not known yet.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=errors, transient=True, disable=not errors.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(word, total=total)
        yield lambda: bar.advance(task)


def _heading(column: str) -> str:
    return column.removesuffix("_at").replace("_", " ")


def _widths(columns: Sequence[str], rows: list[Mapping[str, Any]], gap: int) -> dict[str, int | None]:
    """The widths of columns; in a narrow terminal only foldable ones shrink. None: Rich chooses."""
    natural = {
        column: max(*(len(_text(row.get(column))) for row in rows), *map(len, _heading(column).split()))
        for column in columns
    }
    folded = [column for column in columns if column in _FOLDED]
    kept = sum(natural[column] for column in columns if column not in folded)
    room = console.width - kept - gap * (len(columns) - 1)
    if not folded or room // len(folded) < _LEAST_WIDTH:
        return dict.fromkeys(columns)
    widths = dict(natural)
    for rest, column in enumerate(sorted(folded, key=lambda column: natural[column])):
        # A short column leaves the rest of its share to the others.
        widths[column] = min(natural[column], room // (len(folded) - rest))
        room -= widths[column]
    return dict(widths)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print facts about one thing, one line each."""
    print_pairs({name.replace("_", " "): value for name, value in facts.items()})


def print_pairs(pairs: Mapping[str, Any]) -> None:
    """Like `print_facts`, with the names as they are."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(plain(name), _cell(value))
    console.print(table)


def _cell(value: Any) -> str:
    text = plain(_text(value))
    colour = _STATE_COLOURS.get(text)
    return f"[{colour}]{text}[/]" if colour else text


def _text(value: Any) -> str:
    if value is None or value in ("", [], ()):
        return "-"
    if isinstance(value, datetime):
        return ago(value)
    if isinstance(value, list | tuple) and not any(isinstance(part, dict | list) for part in value):
        return ", ".join(str(part) for part in value)
    if isinstance(value, dict | list | tuple):
        return orjson.dumps(value, default=_plain_value, option=orjson.OPT_INDENT_2).decode()
    return str(_plain_value(value))


def _plain_value(value: Any) -> Any:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def ago(when: datetime, now: datetime | None = None) -> str:
    """A relative time such as `3 min ago` or `in 2 h`."""
    seconds = (when - (now or datetime.now(UTC))).total_seconds()
    size = abs(seconds)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if size >= length:
            words = f"{size / length:.0f} {unit}"
            break
    else:
        words = f"{size:.0f} s"
    return f"in {words}" if seconds > 0 else f"{words} ago"


def leave(code: int) -> None:
    """Exit at once, as everything is closed: the SDK's threads sometimes abort a normal interpreter exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader is gone
            continue
    os._exit(code)
