"""How the CLI talks: tables and colours for people, JSON for programs.

What people and sites wrote may contain [brackets] and line breaks: everything passes `plain` or `_cell`
before Rich sees it.
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

# A pipe has no width: nothing is folded for it.
_PIPE_WIDTH = 10_000
_NARROW = 100
_LEAST_WIDTH = 8

console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)
errors = Console(stderr=True, highlight=False, emoji=False)

# Columns whose words may be cut in two where the terminal is narrow.
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
    """A line with Rich's markup; what is not ours in it has passed `plain`."""
    console.print(text, soft_wrap=True)


def print_prose(text: str) -> None:
    """Like `print_line`, broken between words where the terminal ends; a pipe has no end."""
    console.print(text)


def print_error(message: str) -> None:
    errors.print(f"[red]error:[/] {plain(message)}", soft_wrap=True)


def print_note(message: str) -> None:
    """Something to know, which must not get into what a program reads."""
    errors.print(f"[yellow]{plain(message)}[/]", soft_wrap=True)


def plain(text: Any) -> str:
    """Somebody's words, without effect on Rich or the terminal."""
    return escape("".join(c if c.isprintable() or c == "\n" else "�" for c in str(text)))


def print_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, empty: str) -> None:
    """`columns` are keys of the rows; their headings are the same words."""
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
    """A bar on a terminal's stderr; nothing anywhere else. Yields what moves it by one.

    `total` None: nobody knows yet.
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
    """Where it is narrow, only the columns that may be folded give way; None leaves the choice to Rich."""
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
        # What is short leaves its share to the others.
        widths[column] = min(natural[column], room // (len(folded) - rest))
        room -= widths[column]
    return dict(widths)


def print_facts(facts: Mapping[str, Any]) -> None:
    """One thing, a line per fact."""
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
    """`3 min ago`, `in 2 h`."""
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
    """The SDK's threads sometimes abort an orderly interpreter exit; by now everything is closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # whoever read it is gone
            continue
    os._exit(code)
