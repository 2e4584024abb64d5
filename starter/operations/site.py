"""`fascicle site …`: listing and pausing sites, and trying an adapter."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.series.chapter import Upload
from fascicle.domain.series.chapter_key import assign_keys
from fascicle.domain.series.chapter_title import key_of_title
from fascicle.domain.urls import parse_http_url
from fascicle.services.dependencies import (
    Dependencies,
    build_sandbox,
    build_sites,
    standalone_http,
    surroundings,
)
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_job
from fascicle.storage.operations import gate as gates
from starter.context import command, database_only, effective_settings, usable_dependencies
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from fascicle.net.http import HttpClient
    from fascicle.sites.base import Sites
    from fascicle.sites.declarative import DeclarativeSite

app = typer.Typer(help="Sites, and the adapters that describe them.", no_args_is_help=True)

SiteName = Annotated[str, typer.Argument(help="A site, or a gate as `fascicle status` shows it.")]

# Kinds of gates that may be paused before such a gate exists: `feed` stands for every host of feeds.
_KINDS = ("deviantart", "feed", "page")
_SITE_COLUMNS = ("site", "kind", "gate_seconds", "sweep", "file", "error")
_CHAPTER_COLUMNS = ("key", "number", "title", "language", "published_at", "url")


@app.command("list")
@command
async def list_sites(as_json: AsJson = False) -> None:
    """All sites: how often each may be asked, whether it is swept, and adapters that are broken."""

    settings = effective_settings()
    async with standalone_http(settings) as http, build_sandbox(settings) as sandbox:
        rows = list(_listed(build_sites(settings, http, sandbox)))
    if as_json:
        print_json(rows)
    else:
        print_table(_SITE_COLUMNS, ({**row, "sweep": _yes_or_no(row["sweep"])} for row in rows), empty="")


@app.command("test")
@command
async def try_adapter(
    file: Annotated[Path, typer.Argument(help="The adapter, a YAML file.")],
    url: Annotated[str, typer.Argument(help="The address of a series on the site.")],
    pages: Annotated[int, typer.Option(min=1, max=500, help="How many pages of its list to read.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Read a series with an adapter and show what it finds. Nothing is stored."""
    from fascicle.sites.declarative import build_site

    parse_http_url(url)
    settings = effective_settings()
    async with _http(settings) as http, build_sandbox(settings) as sandbox:
        site = build_site(http, sandbox, file, surroundings(settings))
        key = site.recognise(url)
        if key is None:
            raise UsageError(
                "wrong_usage",
                f"{file}: `match` does not fit {url}, so it is not a series of {site.name}.",
            )
        found = await _try_out(site, key, pages)
    print_json(found) if as_json else _show(found)


@app.command("key")
def key(
    title: Annotated[str, typer.Argument(help="A chapter's title, as a site prints it.")],
    series: Annotated[str, typer.Option(help="The series' name, whose numbers are not the chapter's.")] = "",
    as_json: AsJson = False,
) -> None:
    """The chapter key that a title gets, or none."""
    found = key_of_title(title, series)
    print_json({"title": title, "key": found}) if as_json else print_line(found or "none")


@app.command("pause")
@command
async def pause(
    site: SiteName,
    reason: Annotated[str, typer.Option(help="Why, for whoever wonders later.")] = "",
    as_json: AsJson = False,
) -> None:
    """Send nothing to SITE any more, for whatever purpose, until it is resumed. Nothing is lost meanwhile."""

    check_is_text(reason)
    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        floor = await _floor(dependencies, connection, site)
        keep = not reason.strip()
        await gates.pause(connection, site, _paused(site, reason), floor=floor, keep_reason=keep)
    said = f"{site} is paused. fascicle site resume {site}"
    print_json({"site": site, "paused": True}) if as_json else print_line(plain(said))


@app.command("resume")
@command
async def resume(site: SiteName, as_json: AsJson = False) -> None:
    """Take a pause back. Who waits for SITE looks again after as long as the pause was, an hour at most."""

    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        await _floor(dependencies, connection, site)
        since = await gates.resume(connection, site)
        if since is not None:
            await fic_job.forgive_pause(connection, site, since)
    was_paused = since is not None
    said = f"{site} may be asked again." if was_paused else f"{site} was not paused."
    result = {"site": site, "paused": False, "was_paused": was_paused}
    print_json(result) if as_json else print_line(plain(said))


def _paused(site: str, reason: str) -> str:
    """The reason that timers and `status` show."""
    return f"paused{f': {reason.strip()}' if reason.strip() else ''} (fascicle site resume {site})"


async def _floor(dependencies: Dependencies, connection: "AsyncConnection", name: str) -> float:
    """The shortest time between requests to the site; UsageError if there is no such site."""
    from fascicle.sites.fic import AO3_GATE

    check_is_text(name)
    floors = {site.gate.name: site.gate.policy.floor for site in dependencies.sites}
    floors[AO3_GATE] = dependencies.settings.ao3_interval_seconds
    if name not in floors and name not in _KINDS and not await gates.was_passed(connection, name):
        raise UsageError(
            "unknown_site",
            f"There is no site {name!r}. See `fascicle site list`; hosts of feeds and pages are in "
            "`fascicle status`.",
        )
    return floors.get(name, 0.0)


@asynccontextmanager
async def _http(settings: Settings) -> "AsyncIterator[HttpClient]":
    """Uses the gates of the running stack, so that a test does not disturb its polls; else local gates."""
    if settings.database_url is None:
        async with standalone_http(settings) as http:
            yield http
    else:
        async with usable_dependencies(settings) as dependencies:
            yield dependencies.http


def _listed(sites: "Sites") -> Iterator[dict[str, Any]]:
    from fascicle.sites.base import SweepableSite
    from fascicle.sites.declarative import DeclarativeSite

    for site in sites:
        is_described = isinstance(site, DeclarativeSite)
        yield {
            "site": site.name,
            "kind": "adapter" if is_described else "built in",
            "gate_seconds": site.gate.policy.floor,
            "sweep": isinstance(site, SweepableSite),
            "file": str(site.file) if isinstance(site, DeclarativeSite) else None,
            "error": None,
        }
    for adapter in sites.broken:
        yield {
            "site": adapter.name,
            "kind": "adapter",
            "gate_seconds": None,
            "sweep": None,
            "file": str(adapter.file),
            "error": adapter.error,
        }


def _yes_or_no(answer: bool | None) -> str | None:
    return None if answer is None else "yes" if answer else "no"


async def _try_out(site: "DeclarativeSite", key: str, pages: int) -> dict[str, Any]:
    from fascicle.sites.base import SweepableSite

    info = await site.series(key)
    uploads: list[Upload] = []
    skipped: Counter[str] = Counter()
    rows, total, cursor, read = 0, None, None, 0
    while read < pages:
        page = await site.read_list(key, cursor)
        read += 1
        rows += page.rows
        total = page.total if total is None else total
        uploads += page.entries
        skipped.update(map(str, page.skipped))
        cursor = page.next_cursor
        if cursor is None:
            break
    latest = len((await site.latest([], None)).entries) if isinstance(site, SweepableSite) else None
    return {
        "site": site.name,
        "series": {"key": key, "title": info.title, "url": info.url},
        "chapters": _with_keys(uploads, per_volume=info.numbering_restarts),
        "pages": read,
        "rows": rows,
        "total": total,
        "more": cursor is not None,
        "skipped": dict(skipped),
        "never_filled": _never_filled(site, uploads),
        "latest": latest,
    }


def _with_keys(uploads: list[Upload], *, per_volume: bool) -> list[dict[str, Any]]:
    keys = assign_keys(uploads, {}, per_volume=per_volume)
    shown = ("number", "volume", "title", "language", "group", "published_at", "url")
    return [
        {"key": keys[u.upload_id], "id": u.upload_id, **{name: getattr(u, name) for name in shown}}
        for u in uploads
    ]


def _never_filled(site: "DeclarativeSite", uploads: list[Upload]) -> list[str]:
    """Fields that the file describes but no chapter has."""
    gives = {"id": ("upload_id",), "label": ("number", "title")}
    return [
        name
        for name, _ in site.about.list.fields.picks()
        if not any(getattr(u, attribute) for u in uploads for attribute in gives.get(name, (name,)))
    ]


def _show(found: dict[str, Any]) -> None:
    series = found["series"]
    print_line(f"[bold]{plain(series['title'])}[/]  key {plain(series['key'])}  {plain(series['url'])}")
    print_table(_CHAPTER_COLUMNS, found["chapters"], empty="The list is empty.")
    told = f"{_counted(found['rows'], 'row')} on {_counted(found['pages'], 'page')}"
    told += f", {found['total']} in all" if found["total"] is not None else ""
    told += "; more follow (--pages)" if found["more"] else "; that is the whole list"
    print_line(plain(told))
    if found["latest"] is not None:
        print_line(f"{found['latest']} entries on the first page of what is new for everyone")
    for reason, count in found["skipped"].items():
        print_note(f"! {_counted(count, 'row')} skipped: {reason}")
    for name in found["never_filled"]:
        print_note(f"! list.fields.{name} is never filled")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
