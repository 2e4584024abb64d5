"""`fascicle dead-letters …`: listing, replaying and discarding jobs that failed for good."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import FascicleError, UsageError
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.operations import dead_letter
from starter.context import Reach, command, database_only, reach, reading
from starter.options import AsJson
from starter.output import (
    plain,
    print_facts,
    print_json,
    print_line,
    print_note,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from temporalio.client import WorkflowHandle

    from fascicle.jobs.operations import ReplayLettersInput, ReplayLettersResult

app = typer.Typer(help="What failed for good: look, replay, discard.", no_args_is_help=True)

LetterId = Annotated[int, typer.Argument(help="The letter's number.", min=1, max=2**63 - 1)]
LetterIds = Annotated[
    list[int] | None,
    typer.Argument(help="Letters' numbers; or choose by --code, --kind or --all.", min=1, max=2**63 - 1),
]
Code = Annotated[str | None, typer.Option(help="Every open letter with this error code.")]
Kind = Annotated[
    str | None,
    typer.Option(help="Every open letter of this kind: poll, ingest, notify, deliver, item, enrich."),
]
All = Annotated[bool, typer.Option("--all", help="Every open letter.")]
_AT_ONCE = 10
_LOOK_EVERY = 0.3
_QUERY_PATIENCE = timedelta(seconds=10)
_KINDS = ("poll", "ingest", "notify", "deliver", "item", "enrich")
_STATES = ("open", "replayed", "resolved", "discarded", "all")


@app.command("list")
@command
async def list_letters(
    state: Annotated[str, typer.Option(help="open, replayed, resolved, discarded or all.")] = "open",
    code: Annotated[str | None, typer.Option(help="Only those with this error code.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="Only poll, ingest, notify, deliver, item or enrich.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """Dead letters, newest first, with a count per error code."""

    if state not in _STATES:
        raise UsageError("wrong_usage", f"{state!r} is no state: use one of {', '.join(_STATES)}.")
    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        _check_kind(kind)
        wanted = None if state == "all" else state
        rows = await dead_letter.listing(connection, state=wanted, limit=limit, code=code, kind=kind)
        counts = await dead_letter.counts_by_code(connection)
    if as_json:
        print_json(rows)
        return
    columns = (
        "id",
        "kind",
        "job_key",
        "error_code",
        "attempts",
        "occurrences",
        "state",
        "last_failed_at",
    )
    print_table(columns, rows, empty="No dead letters.")
    if counts:
        print_line(plain("open by code: " + ", ".join(f"{code} {n}" for code, n in counts.items())))


@app.command("show")
@command
async def show(letter: LetterId, as_json: AsJson = False) -> None:
    """One letter: its input, its error, its workflow."""

    async with reading() as dependencies:
        row = await _letter(dependencies, letter)
    print_json(row) if as_json else print_facts(row)


@app.command("counts")
@command
async def counts(as_json: AsJson = False) -> None:
    """Open letters by error code and kind."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        rows = await dead_letter.counts(connection)
    if as_json:
        print_json(rows)
        return
    columns = ("error_code", "kind", "letters", "first_failed_at", "last_failed_at")
    print_table(columns, rows, empty="No dead letters.")


@app.command("replay")
@command
async def replay(
    letters: LetterIds = None,
    code: Code = None,
    kind: Kind = None,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Try again, under the same workflow ids."""
    from fascicle.jobs.operations import ReplayLettersInput

    async with reach() as r:
        rows = await _chosen(r.dependencies, letters, code, kind, every)
        for row in rows:
            if row["state"] in ("resolved", "discarded"):
                raise UsageError(
                    "settled", f"Letter {row['id']} is {row['state']}: there is nothing to replay."
                )
        wanted = ReplayLettersInput(letters=letters or [], code=code, kind=kind)
        result = await replay_letters(r, wanted, rows)
    _report("replayed", result.replayed, result.failed, as_json)


async def replay_letters(
    r: Reach, wanted: "ReplayLettersInput", rows: list[dict[str, Any]]
) -> "ReplayLettersResult":
    """Start the workflow that replays the letters, and wait for its end."""
    from fascicle.jobs.operations import ReplayLettersResult, replay_letters_job
    from fascicle.services.series.onboarding import ensure_workflow
    from fascicle.temporal.workflow_start import start_job

    for row in rows:
        if row["kind"] == "poll":  # the source's workflow gets a signal, so it must be running
            await ensure_workflow(r.dependencies, r.client, row["input"]["source_id"])
    handle = await start_job(r.client, replay_letters_job(wanted, len(rows)))
    ending = asyncio.create_task(handle.result())
    with progress_bar("replaying", len(rows)) as advance:
        seen = 0
        while not ending.done():
            await asyncio.wait([ending], timeout=_LOOK_EVERY)
            done = await _replayed_so_far(handle, ending)
            for _ in range(done - seen):
                advance()
            seen = max(seen, done)
    return ReplayLettersResult.model_validate(ending.result())


async def _replayed_so_far(handle: "WorkflowHandle[Any, Any]", ending: asyncio.Task[Any]) -> int:
    from temporalio.service import RPCError

    if ending.done():
        return 0
    try:
        progress = await handle.query("progress", rpc_timeout=_QUERY_PATIENCE)
    except RPCError:
        print_note(f"No worker answers; {handle.id} goes on as soon as one runs. See `fascicle doctor`.")
        ending.cancel()
        raise typer.Exit(1) from None
    return len(progress["replayed"]) + len(progress["failed"])


@app.command("discard")
@command
async def discard(
    letters: LetterIds = None,
    code: Code = None,
    kind: Kind = None,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Accept the loss; it will not be tried again."""

    async with database_only() as dependencies:
        rows = await _chosen(dependencies, letters, code, kind, every)
        failed = await _each(rows, lambda row: _discard(dependencies, row), "discarding")
    _report("discarded", [row["id"] for row in rows if row["id"] not in failed], failed, as_json)


async def _chosen(
    dependencies: Dependencies, letters: list[int] | None, code: str | None, kind: str | None, every: bool
) -> list[dict[str, Any]]:
    """The chosen letters: those with the given numbers, or all open ones of a code or a kind."""
    _check_kind(kind)
    if bool(letters) == bool(code or kind or every):
        raise UsageError("wrong_usage", "Give letters' numbers, or one of --code, --kind and --all.")
    if letters:
        return [await _letter(dependencies, number) for number in letters]
    async with transaction(dependencies.engine) as connection:
        return await dead_letter.listing(connection, state="open", limit=None, code=code, kind=kind)


def _check_kind(kind: str | None) -> None:
    if kind is not None and kind not in _KINDS:
        raise UsageError("wrong_usage", f"{kind!r} is no kind: use one of {', '.join(_KINDS)}.")


async def _each(
    rows: list[dict[str, Any]], job: Callable[[dict[str, Any]], Awaitable[None]], word: str
) -> dict[int, str]:
    """Run the job for each letter, a few at a time; returns errors by letter. A single letter may raise."""
    if len(rows) == 1:
        await job(rows[0])
        return {}
    failed: dict[int, str] = {}
    limit = asyncio.Semaphore(_AT_ONCE)
    with progress_bar(word, len(rows)) as advance:

        async def one(row: dict[str, Any]) -> None:
            async with limit:
                try:
                    await job(row)
                except FascicleError as error:
                    failed[row["id"]] = error.message
                advance()

        await asyncio.gather(*(one(row) for row in rows))
    return failed


def _report(done: str, succeeded: list[int], failed: dict[int, str], as_json: bool) -> None:
    if as_json:
        print_json({done: succeeded, "failed": failed})
    elif len(succeeded) == 1:
        print_line(f"letter {succeeded[0]} is {done}")
    else:
        print_line(f"{len(succeeded)} letters are {done}")
    for number, why in failed.items():
        print_note(f"letter {number}: {why}")
    if failed:
        raise typer.Exit(1)


async def _discard(dependencies: Dependencies, row: dict[str, Any]) -> None:
    if not await _settle(dependencies, row["id"], "discarded"):
        raise UsageError("settled", f"Letter {row['id']} is {row['state']} already.")
    if row["kind"] == "deliver":
        async with transaction(dependencies.engine) as connection:
            await notifications.discard(connection, row["input"]["delivery_id"])


async def _letter(dependencies: Dependencies, letter_id: int) -> dict[str, Any]:
    async with transaction(dependencies.engine) as connection:
        row = await dead_letter.get(connection, letter_id)
    if row is None:
        raise UsageError(
            "unknown_letter", f"There is no dead letter {letter_id}. See `fascicle dead-letters list`."
        )
    return row


async def _settle(dependencies: Dependencies, letter_id: int, state: str) -> bool:
    async with transaction(dependencies.engine) as connection:
        return await dead_letter.settle(connection, letter_id, state, dependencies.clock())
