"""CSV: columns for address, title and progress. The list of doubtful series is written in the same form."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from fascicle.imports.wanted import Parsed, Wanted, chapter_number, title_text, tracker_id, unusable, url_text

_NAMES = {
    "url": ("url", "link", "address", "href", "source url"),
    "title": ("title", "name", "series", "manga", "series title", "manga title"),
    "read": ("read", "chapter", "progress", "chapters read", "read chapters", "last read", "last chapter"),
    "anilist": ("anilist", "anilist id", "al"),
    "mal": ("mal", "mal id", "myanimelist", "myanimelist id"),
    "take": ("take",),
}
_FIELD_OF = {name: field for field, names in _NAMES.items() for name in names}
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_NO = ("", "no", "n", "0", "false")
# A spreadsheet would take a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@")

DOUBTFUL_COLUMNS = ("take", "title", "candidate", "url", "read", "anilist_id", "mal_id", "why")


def parse_csv(text: str) -> Parsed:
    """With a header or without one; a row whose `take` column is blank is left out."""
    rows = _rows(text)
    header = {_FIELD_OF.get(_normal(cell), ""): place for place, cell in reversed([*enumerate(rows[0])])}
    header.pop("", None)
    if not header.keys() & {"url", "title"}:
        return Parsed([wanted for row in rows if (wanted := _by_looks(row))])
    body = [{field: _at(row, place) for field, place in header.items()} for row in rows[1:]]
    taken = [row for row in body if "take" not in row or row["take"].lower() not in _NO]
    left_out = len(body) - len(taken)
    notes = (f"{left_out} rows left out: nothing in their `take` column",) if left_out else ()
    return Parsed([wanted for row in taken if (wanted := _by_name(row))], notes)


def doubtful_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows with `DOUBTFUL_COLUMNS`; put a word into `take` to have a row imported."""
    out = io.StringIO()
    writer = csv.DictWriter(out, DOUBTFUL_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _harmless(row.get(name)) for name in DOUBTFUL_COLUMNS})
    return out.getvalue()


def _rows(text: str) -> list[list[str]]:
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise unusable(f"This is no readable CSV: {error}.") from error
    rows = [[cell.strip() for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise unusable("The file has no rows.")
    return rows


def _normal(cell: str) -> str:
    return " ".join(cell.lower().replace("_", " ").split())


def _at(row: Sequence[str], place: int) -> str:
    return row[place] if place < len(row) else ""


def _by_name(row: Mapping[str, str]) -> Wanted | None:
    wanted = Wanted(
        title=title_text(row.get("title", "")),
        url=url_text(row.get("url", "")),
        anilist_id=tracker_id(row.get("anilist", "")),
        mal_id=tracker_id(row.get("mal", "")),
        read=chapter_number(row.get("read", "")),
    )
    return wanted if wanted.title or wanted.url else None


def _by_looks(row: Sequence[str]) -> Wanted | None:
    """A row of a file without a header: an address, a lone number for the chapter, or a comment (`# …`)."""
    if row[0].startswith("# "):
        return None
    urls = [cell for cell in row if _WEB_ADDRESS.match(cell)]
    numbers = [number for cell in row if (number := chapter_number(cell)) is not None]
    words = [cell for cell in row if cell and cell not in urls and chapter_number(cell) is None]
    wanted = Wanted(
        title=title_text(words[0]) if words else None,
        url=url_text(urls[0]) if urls else None,
        read=numbers[0] if numbers else None,
    )
    return wanted if wanted.title or wanted.url else None


def _harmless(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
