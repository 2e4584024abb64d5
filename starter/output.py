"""How the CLI talks: tables and colours for people, JSON for programs."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

_STATE_COLOURS = {
    "open": "red", "half_open": "yellow", "closed": "green", "HOT": "red", "WARM": "yellow", "COLD": "cyan",
    "sent": "green", "failed": "red", "unconfirmed": "yellow", "pending": "cyan", "ok": "green",
    "FAIL": "red",
}  # fmt: skip


def print_json(value: Any) -> None:
    data = orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    sys.stdout.write(data.decode() + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def print_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, empty: str) -> None:
    """`columns` are keys of the rows; their headings are the same words."""
    listed = list(rows)
    if not listed:
        console.print(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in listed:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """One thing, a line per fact."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name.replace("_", " "), _cell(value))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, datetime):
        return ago(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, list | tuple):
        return escape(", ".join(str(part) for part in value)) or "-"
    text = escape(str(value))
    colour = _STATE_COLOURS.get(text)
    return f"[{colour}]{text}[/]" if colour else text


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
