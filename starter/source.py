"""`fascicle source …`"""

from typing import Annotated, Any

import typer

from fascicle.domain.cadence import Cadence
from fascicle.domain.errors import UsageError
from fascicle.storage import source as sources
from fascicle.storage.database import transaction
from starter.context import Reach, database_only, reach, run
from starter.onboarding import add_source, ensure_workflow, source_named
from starter.output import console, errors, print_facts, print_json, print_table

app = typer.Typer(help="Sources: series on a site that are polled.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
SourceRef = Annotated[str, typer.Argument(help="A source's id, URL or title.")]

_COLUMNS = (
    "id", "title", "site", "cadence", "circuit", "chapters", "latest_chapter", "last_checked_at",
    "next_check_at",
)  # fmt: skip


@app.command("add")
def add(
    url: str,
    series: Annotated[str | None, typer.Option(help="Attach to this series (id or title).")] = None,
    language: Annotated[list[str] | None, typer.Option(help="Language to follow; repeatable.")] = None,
    cadence: Annotated[Cadence | None, typer.Option(help="Pin the cadence.")] = None,
    announce_history: Annotated[
        bool, typer.Option("--announce-history", help="Notify about what is there already, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Follow the series behind a URL. Its history is stored silently."""

    async def command() -> None:
        async with reach() as r:
            done = await add_source(
                r.dependencies,
                r.client,
                url,
                series=series,
                languages=language,
                cadence=cadence,
                announce_history=announce_history,
                on_wait=lambda reason: errors.print(f"[yellow]{reason}[/]"),
            )
        if as_json:
            print_json({"created": done.created, **done.source})
            return
        word = "now followed" if done.created else "was followed already"
        console.print(f"[bold]{done.source['title']}[/] {word}: source {done.source['id']}")

    run(command)


@app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """All sources with their cadence, circuit and next check."""

    async def command() -> None:
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            rows = await sources.listing(connection)
        if as_json:
            print_json(rows)
        else:
            print_table(_COLUMNS, map(_shown, rows), empty="No sources yet: fascicle source add URL")

    run(command)


@app.command("show")
def show(source: SourceRef, as_json: AsJson = False) -> None:
    """One source, and what its workflow is doing."""

    async def command() -> None:
        async with reach() as r:
            row = await source_named(r.dependencies, source)
            handle = r.client.get_workflow_handle(f"source-{row['id']}")
            row["workflow"] = await handle.query("status")
        print_json(row) if as_json else print_facts(row)

    run(command)


@app.command("pause")
def pause(source: SourceRef, reason: Annotated[str, typer.Option(help="Shown to others.")] = "") -> None:
    """Stop polling until resumed."""
    run(_signalled(source, "pause", reason, "paused"))


@app.command("resume")
def resume(source: SourceRef) -> None:
    """Poll again."""
    run(_signalled(source, "resume", None, "resumed"))


@app.command("poll")
def poll(source: SourceRef) -> None:
    """Look now, whatever the timer says."""
    run(_signalled(source, "poll_now", None, "is being polled"))


@app.command("priority")
def priority(
    source: SourceRef, cadence: Annotated[str, typer.Argument(help="HOT, WARM, COLD or auto.")]
) -> None:
    """Pin the cadence, or hand it back to the rule."""
    if cadence.upper() not in (*Cadence.__members__, "AUTO"):
        run(_refuse(f"{cadence!r} is no cadence: use HOT, WARM, COLD or auto."))
    run(_signalled(source, "set_priority", cadence, f"has cadence {cadence}"))


@app.command("remove")
def remove(source: SourceRef) -> None:
    """Stop following. What was stored stays; adding the URL again picks it up."""

    async def command() -> None:
        async with reach() as r:
            row = await source_named(r.dependencies, source)
            handle = await ensure_workflow(r.dependencies, r.client, row["id"])
            async with transaction(r.dependencies.engine) as connection:
                await sources.remove(connection, row["id"], r.dependencies.clock())
            await handle.signal("stop")
        console.print(f"{row['title']} is no longer followed")

    run(command)


async def _signalled(source: str, signal: str, argument: str | None, done: str) -> None:
    async with reach() as r:
        row = await source_named(r.dependencies, source)
        await _signal(r, row, signal, argument)
    console.print(f"{row['title']} {done}")


async def _signal(r: Reach, row: dict[str, Any], signal: str, argument: str | None) -> None:
    handle = await ensure_workflow(r.dependencies, r.client, row["id"])
    await handle.signal(signal, args=[] if argument is None else [argument])


async def _refuse(message: str) -> None:
    raise UsageError("wrong_usage", message)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "next_check_at": "paused" if row["paused_at"] else row["next_check_at"]}
