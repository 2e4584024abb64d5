"""`fascicle dead-letters …`: what failed for good."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from temporalio.common import Priority

from activities.chapter import IngestInput
from fascicle.domain.errors import FascicleError, UsageError
from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import dead_letter
from fascicle.storage import notification as notifications
from fascicle.storage.database import transaction
from starter.context import Reach, database_only, reach, run
from starter.onboarding import ensure_workflow
from starter.output import (
    plain,
    print_facts,
    print_json,
    print_line,
    print_note,
    print_table,
    progress_bar,
)
from starter.source import AsJson
from starter.starting import notify_again, start_or_join

app = typer.Typer(help="What failed for good: look, replay, discard.", no_args_is_help=True)

LetterId = Annotated[int, typer.Argument(help="The letter's number.", min=1, max=2**63 - 1)]
LetterIds = Annotated[
    list[int] | None, typer.Argument(help="Letters' numbers; or choose by --code, --kind or --all.", min=1)
]
Code = Annotated[str | None, typer.Option(help="Every open letter with this error code.")]
Kind = Annotated[
    str | None, typer.Option(help="Every open letter of this kind: poll, ingest, notify, deliver.")
]
All = Annotated[bool, typer.Option("--all", help="Every open letter.")]
_AT_ONCE = 10
_STATES = ("open", "replayed", "resolved", "discarded", "all")


@app.command("list")
def list_letters(
    state: Annotated[str, typer.Option(help="open, replayed, resolved, discarded or all.")] = "open",
    code: Annotated[str | None, typer.Option(help="Only those with this error code.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only poll, ingest, notify or deliver.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """Dead letters, newest first, with a count per error code."""

    async def command() -> None:
        if state not in _STATES:
            raise UsageError("wrong_usage", f"{state!r} is no state: use one of {', '.join(_STATES)}.")
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
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

    run(command)


@app.command("show")
def show(letter: LetterId, as_json: AsJson = False) -> None:
    """One letter: its input, its error, its workflow."""

    async def command() -> None:
        async with database_only() as dependencies:
            row = await _letter(dependencies, letter)
        print_json(row) if as_json else print_facts(row)

    run(command)


@app.command("counts")
def counts(as_json: AsJson = False) -> None:
    """Open letters by error code and kind."""

    async def command() -> None:
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            rows = await dead_letter.counts(connection)
        if as_json:
            print_json(rows)
            return
        columns = ("error_code", "kind", "letters", "first_failed_at", "last_failed_at")
        print_table(columns, rows, empty="No dead letters.")

    run(command)


@app.command("replay")
def replay(
    letters: LetterIds = None,
    code: Code = None,
    kind: Kind = None,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Try again, under the same workflow ids."""

    async def command() -> None:
        async with reach() as r:
            rows = await _chosen(r.dependencies, letters, code, kind, every)
            for row in rows:
                if row["state"] in ("resolved", "discarded"):
                    raise UsageError(
                        "settled", f"Letter {row['id']} is {row['state']}: there is nothing to replay."
                    )
            failed = await _each(rows, lambda row: _settle_and_replay(r, row), "replaying")
        _report("replayed", rows, failed, as_json)

    run(command)


@app.command("discard")
def discard(
    letters: LetterIds = None,
    code: Code = None,
    kind: Kind = None,
    every: All = False,
    as_json: AsJson = False,
) -> None:
    """Accept the loss; it will not be tried again."""

    async def command() -> None:
        async with database_only() as dependencies:
            rows = await _chosen(dependencies, letters, code, kind, every)
            failed = await _each(rows, lambda row: _discard(dependencies, row), "discarding")
        _report("discarded", rows, failed, as_json)

    run(command)


async def _chosen(
    dependencies: Dependencies, letters: list[int] | None, code: str | None, kind: str | None, every: bool
) -> list[dict[str, Any]]:
    """The letters meant: those numbered, or all open ones of a code or a kind."""
    if bool(letters) == bool(code or kind or every):
        raise UsageError("wrong_usage", "Give letters' numbers, or one of --code, --kind and --all.")
    if letters:
        return [await _letter(dependencies, number) for number in letters]
    async with transaction(dependencies.engine) as connection:
        return await dead_letter.listing(connection, state="open", limit=None, code=code, kind=kind)


async def _each(
    rows: list[dict[str, Any]], job: Callable[[dict[str, Any]], Awaitable[None]], word: str
) -> dict[int, str]:
    """Do it to each, a few at a time, with a progress bar; the errors by letter. One alone may raise."""
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


def _report(done: str, rows: list[dict[str, Any]], failed: dict[int, str], as_json: bool) -> None:
    succeeded = [row["id"] for row in rows if row["id"] not in failed]
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


async def _settle_and_replay(r: Reach, row: dict[str, Any]) -> None:
    # Settled first: if the job fails once more, it writes a letter of its own.
    await _settle(r.dependencies, row["id"], "replayed")
    await _replay(r, row)


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


async def _replay(r: Reach, row: dict[str, Any]) -> None:
    job = row["input"]
    if row["kind"] == "poll":
        handle = await ensure_workflow(r.dependencies, r.client, job["source_id"])
        await handle.signal("poll_now")
    elif row["kind"] == "ingest":
        ingest = IngestInput.model_validate(job)
        await start_or_join(
            r.client,
            "IngestChapterWorkflow",
            ingest,
            workflow_id=row["workflow_id"],
            summary=f"replay: {ingest.series_title} {ingest.chapter.key}",
            priority=Priority(priority_key=1),
        )
    elif row["kind"] == "notify":
        await notify_again(r.client, job["series_id"], job["chapter_id"])
    else:
        await _redeliver(r, job)


async def _redeliver(r: Reach, job: dict[str, Any]) -> None:
    async with transaction(r.dependencies.engine) as connection:
        await notifications.requeue(connection, job["delivery_id"], r.dependencies.clock())
    if job["chapter_id"] is None:  # a digest: the schedule's next run sends it
        return
    async with transaction(r.dependencies.engine) as connection:
        series_id = await notifications.series_of(connection, job["chapter_id"])
    if series_id is None:
        raise UsageError("chapter_gone", "The chapter that message was about is gone.")
    await notify_again(r.client, series_id, job["chapter_id"])
