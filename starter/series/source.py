"""`fascicle source …`: everything that is polled, series and feeds."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.names import FEED_SITE, source_workflow_id
from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.gaps import describe
from fascicle.process.correlation_id import current_correlation_id
from fascicle.services.series.named_source import source_named
from fascicle.storage.database import transaction
from fascicle.storage.series import chapter as chapters_table
from fascicle.storage.series import source as sources
from starter.context import Reach, command, reach, reading
from starter.lazy import LazyCommand, lazy_group
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle

LAZY = (
    LazyCommand(
        "import",
        "starter.series.import_command:import_file",
        "Follow every series of a file. Run it again to go on after an interruption; history is silent.",
    ),
)

app = typer.Typer(
    cls=lazy_group(LAZY), help="Sources: series on a site that are polled.", no_args_is_help=True
)

SourceRef = Annotated[str, typer.Argument(help="A source's id, URL or title.")]

_COLUMNS = ("id", "title", "site", "cadence", "circuit", "chapters", "last_checked_at", "next_check_at")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{2,4})?")
_QUERY_PATIENCE = timedelta(seconds=3)


@app.command("add")
@command
async def add(
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
    from fascicle.services.series.onboarding import add_source

    check_languages(language or [])
    async with reach() as r:
        done = await add_source(
            r.dependencies,
            r.client,
            url,
            series=series,
            languages=language,
            cadence=cadence,
            announce_history=announce_history,
            on_wait=print_note,
        )
    if not done.created and (series or language or cadence or announce_history):
        print_note("It was there already: the options were not applied. See `fascicle source --help`.")
    if as_json:
        print_json({"created": done.created, "correlation_id": current_correlation_id(), **done.source})
        return
    word = "is followed now" if done.created else "was followed already"
    print_line(f"[bold]{plain(done.source['title'])}[/] {word}: source {done.source['id']}")


@app.command("list")
@command
async def list_sources(as_json: AsJson = False) -> None:
    """All sources with their cadence, circuit and next check."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        rows = await sources.listing(connection)
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, map(_shown, rows), empty="No sources yet: fascicle source add URL")


@app.command("show")
@command
async def show(source: SourceRef, as_json: AsJson = False) -> None:
    """One source, and what its workflow is doing."""

    async with reach() as r:
        row = await source_named(r.dependencies, source)
        workflow = await workflow_status(r.client, row["id"])
        gaps = await _gaps(r, row)
    if as_json:
        print_json({**row, "gaps": gaps, "workflow": workflow})
        return
    if not _is_feed(row):
        row["missing chapters"] = describe(gaps)
    told = ("polls", "last_outcome", "waiting_for", "error")
    print_facts({**row, **{f"workflow: {name}": workflow[name] for name in told if name in workflow}})


@app.command("pause")
@command
async def pause(
    source: SourceRef, reason: Annotated[str, typer.Option(help="Shown to others.")] = ""
) -> None:
    """Stop polling until resumed."""
    await _signalled(source, "pause", reason, "is paused")


@app.command("resume")
@command
async def resume(source: SourceRef) -> None:
    """Poll again."""
    await _signalled(source, "resume", None, "is polled again")


@app.command("poll")
@command
async def poll(source: SourceRef) -> None:
    """Look now, whatever the timer says."""
    await _signalled(source, "poll_now", None, "is being polled")


@app.command("replay")
@command
async def replay(
    source: SourceRef,
    chapters: Annotated[str, typer.Argument(help="A chapter's key (45), or a range of numbers (40-45).")],
) -> None:
    """Ingest chapters of a source once more. Nobody is told twice."""

    if not chapters.strip() or len(chapters) > 200:
        raise UsageError("wrong_usage", "Which chapters? Give a key such as 45, or a range such as 40-45.")
    async with reach() as r:
        row = await source_named(r.dependencies, source)
        if _is_feed(row):
            raise UsageError(
                "wrong_usage",
                f"{row['title']} is a feed: its runs are replayed, `fascicle run replay ID`.",
            )
        await _signal(r, row, "replay", chapters.strip())
    print_line(f"{plain(row['title'])} replays {plain(chapters.strip())}")


@app.command("priority")
@command
async def priority(
    source: SourceRef, cadence: Annotated[str, typer.Argument(help="HOT, WARM, COLD or auto.")]
) -> None:
    """Pin the cadence, or hand it back to the rule."""
    name = cadence.upper()

    if name not in (*Cadence.__members__, "AUTO"):
        raise UsageError("wrong_usage", f"{cadence!r} is no cadence: use HOT, WARM, COLD or auto.")
    done = "has the cadence of the rule again" if name == "AUTO" else f"is pinned to {name}"
    await _signalled(source, "set_priority", name, done)


@app.command("remove")
@command
async def remove(source: SourceRef) -> None:
    """Stop following. What was stored stays; adding the URL again picks it up."""
    from fascicle.temporal.workflow_start import stop_workflow

    async with reach() as r:
        row = await source_named(r.dependencies, source)
        if _is_feed(row):
            raise UsageError(
                "wrong_usage",
                f"{row['title']} is a feed and stays while somebody follows it: "
                f"fascicle feed unsubscribe {row['id']} --user NAME",
            )
        async with transaction(r.dependencies.engine) as connection:
            await sources.remove(connection, row["id"], r.dependencies.clock())
        await stop_workflow(r.client, source_workflow_id(row["id"]))
    print_line(f"{plain(row['title'])} is no longer followed")


async def _signalled(source: str, signal: str, argument: str | None, done: str) -> None:
    async with reach() as r:
        row = await source_named(r.dependencies, source)
        await _signal(r, row, signal, argument)
    print_line(f"{plain(row['title'])} {done}")


async def _signal(r: Reach, row: dict[str, Any], signal: str, argument: str | None) -> None:
    from fascicle.services.series.onboarding import ensure_workflow

    handle = await ensure_workflow(r.dependencies, r.client, row["id"])
    await handle.signal(signal, args=[] if argument is None else [argument])


async def _gaps(r: Reach, row: dict[str, Any]) -> list[Any]:
    if _is_feed(row):
        return []
    async with transaction(r.dependencies.engine) as connection:
        return list(await chapters_table.gaps(connection, row["series_id"]))


async def workflow_status(client: "Client", source_id: str) -> dict[str, Any]:
    """The workflow's own status, or the reason why there is none."""
    from temporalio.client import WorkflowQueryFailedError, WorkflowQueryRejectedError
    from temporalio.service import RPCError, RPCStatusCode

    from starter.temporal_words import is_about_namespace, refusal

    handle = client.get_workflow_handle(source_workflow_id(source_id))
    try:
        answer: dict[str, Any] = await handle.query("status", rpc_timeout=_QUERY_PATIENCE)
        if answer["watching"]:
            answer |= await _looks_since(handle, answer)
    except (WorkflowQueryFailedError, WorkflowQueryRejectedError) as error:
        return {"error": str(error)}
    except RPCError as error:
        if is_about_namespace(error):
            return {"error": refusal(error)}
        if error.status == RPCStatusCode.NOT_FOUND:
            return {"error": "it has no workflow: fascicle setup starts it"}
        return {"error": "no worker answers: fascicle doctor"}
    return answer


async def _looks_since(handle: "WorkflowHandle[Any, Any]", answer: dict[str, Any]) -> dict[str, Any]:
    """For a watched source: the result of its looks since the last one that the workflow got."""
    described = await handle.describe(rpc_timeout=_QUERY_PATIENCE)
    for look in described.raw_description.pending_activities:
        if look.attempt > 1 and look.HasField("next_attempt_schedule_time"):
            return {
                "polls": answer["polls"] + look.attempt - 1,
                "last_poll_at": look.last_attempt_complete_time.ToJsonString(),
                "last_outcome": look.last_failure.message,
                "next_poll_at": look.next_attempt_schedule_time.ToJsonString(),
            }
    return {"next_poll_at": datetime.now(UTC).isoformat()}  # a look is running now


def check_languages(languages: list[str]) -> None:
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise UsageError("wrong_usage", f"{language!r} is no language: use codes such as en or pt-br.")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    held = f"{row['items']} items" if _is_feed(row) else row["chapters"]
    return {**row, "chapters": held, "next_check_at": "paused" if row["paused_at"] else row["next_check_at"]}


def _is_feed(row: dict[str, Any]) -> bool:
    return bool(row["site"] == FEED_SITE)
