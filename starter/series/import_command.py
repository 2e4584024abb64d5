"""`fascicle source import`"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.imports.csv_table import doubtful_csv
from fascicle.imports.reading import Format, ImportFile, read_import
from fascicle.services.series.series_import import Importer, Report
from fascicle.sites.base import Sites
from starter.context import Reach, command, reach
from starter.notifications.user import user_named
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table
from starter.series.import_progress import progress_display
from starter.series.source import check_languages

_SHOWN = 50


@command
async def import_file(
    file: Annotated[Path, typer.Argument(help="A list of URLs, CSV, OPML, a Tachiyomi/Mihon backup, "
                                              "an AniList or MyAnimeList export.")],
    user: Annotated[str | None, typer.Option(help="Who follows the series from where the file says.")] = None,
    file_format: Annotated[Format, typer.Option("--format", help="What FILE is.")] = Format.AUTO,
    language: Annotated[list[str] | None, typer.Option(help="Language to follow; repeatable.")] = None,
    doubtful: Annotated[
        Path | None, typer.Option(help="Write undecided series to this CSV, to be edited and imported.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Follow every series of a file. Run it again to go on after an interruption; history is silent."""

    check_languages(language or [])
    _check_target(doubtful)
    async with reach() as r:
        user_id = await user_named(r.dependencies, user) if user is not None else None
        batch = read_import(file, file_format, _known_series(r.dependencies.sites))
        if not (yes or as_json or _confirmed(file, batch, user)):
            print_note("Nothing was imported.")
            return
        report = await _import(r, batch, user_id, language)
    written = _write_doubtful(doubtful, report)
    if as_json:
        print_json(_as_json(batch, report))
    else:
        _print(batch, report, written)
    if report.failed:
        raise typer.Exit(1)


async def _import(r: Reach, batch: ImportFile, user_id: str | None, languages: list[str] | None) -> Report:
    try:
        with progress_display() as display:
            return await Importer(
                r.dependencies, r.client, batch, display, user_id=user_id, languages=languages
            ).run()
    except asyncio.CancelledError:
        print_note("Interrupted; the same command goes on from here.")
        raise


def _known_series(sites: Sites) -> Callable[[str], bool]:
    def is_series(url: str) -> bool:
        try:
            sites.recognise(url)
        except UsageError:
            return False
        return True

    return is_series


def _check_target(target: Path | None) -> None:
    """Checked before the work starts: never overwrite a list that a person may have edited."""
    if target is None:
        return
    if target.exists():
        raise UsageError(
            "wrong_usage", f"{target} exists already; name another file for the doubtful series."
        )
    if not target.absolute().parent.is_dir():
        raise UsageError("wrong_usage", f"There is no folder {target.absolute().parent}.")


def _confirmed(file: Path, batch: ImportFile, user: str | None) -> bool:
    if not sys.stdin.isatty():
        return True
    follower = f", followed by {user}" if user else ""
    question = f"Import {len(batch.wanted)} series from {file.name} ({batch.format}){follower}?"
    return typer.confirm(question, default=True, err=True)


def _write_doubtful(target: Path | None, report: Report) -> Path | None:
    if target is None or not report.doubtful:
        return None
    try:
        # The byte order mark tells spreadsheets that the file is UTF-8.
        target.write_text(doubtful_csv(_choices(report)), encoding="utf-8-sig")
    except OSError as error:
        print_note(f"{target} cannot be written: {error.strerror}.")
        return None
    return target


def _choices(report: Report) -> Iterator[dict[str, Any]]:
    """One line per candidate, or one line in which a person can enter an address."""
    for row in report.doubtful:
        for candidate in row["candidates"] or [{"title": None, "url": None}]:
            yield {**row, "candidate": candidate["title"], "url": candidate["url"], "take": ""}


def _as_json(batch: ImportFile, report: Report) -> dict[str, Any]:
    return {
        "format": batch.format,
        "rows": report.rows,
        "added": report.added,
        "present": report.present,
        "doubtful": report.doubtful,
        "failed": report.failed,
        "notes": batch.notes,
    }


def _print(batch: ImportFile, report: Report, written: Path | None) -> None:
    if report.doubtful:
        choices = [{**row, "title": row["title"] or row["url"]} for row in _choices(report)]
        _print_rows("To be decided by you", ("title", "why", "candidate", "url"), choices)
    if report.failed:
        _print_rows("Failed", ("title", "url", "why"), report.failed)
    for note in batch.notes:
        print_note(note)
    print_line(
        f"{report.rows} series: [green]{report.added} added[/], {report.present} there already, "
        f"[yellow]{len(report.doubtful)} doubtful[/], [red]{len(report.failed)} failed[/]"
    )
    if written:
        print_line(
            f"Put a word into `take` where a line of {plain(written)} is right, then import that file."
        )
    elif report.doubtful:
        print_line("`--doubtful OUT.csv` writes the doubtful ones to a file that can be edited and imported.")
    if report.failed:
        print_line("The same command tries the failed ones again.")


def _print_rows(heading: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    print_line(f"[bold]{heading}[/]")
    print_table(columns, rows[:_SHOWN], empty="")
    if len(rows) > _SHOWN:
        print_line(f"… and {len(rows) - _SHOWN} more lines")
    print_line("")
