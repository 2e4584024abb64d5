"""`fascicle dead-letters …`: what failed for good."""

from typing import Annotated, Any

import typer
from temporalio.common import Priority

from activities.chapter import IngestInput
from fascicle.domain.errors import UsageError
from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import dead_letter
from fascicle.storage import notification as notifications
from fascicle.storage.database import transaction
from starter.context import Reach, database_only, reach, run
from starter.onboarding import ensure_workflow
from starter.output import plain, print_facts, print_json, print_line, print_table
from starter.source import AsJson
from starter.starting import notify_again, start_or_join

app = typer.Typer(help="What failed for good: look, replay, discard.", no_args_is_help=True)

LetterId = Annotated[int, typer.Argument(help="The letter's number.", min=1, max=2**63 - 1)]
_STATES = ("open", "replayed", "resolved", "discarded", "all")


@app.command("list")
def list_letters(
    state: Annotated[str, typer.Option(help="open, replayed, resolved, discarded or all.")] = "open",
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """Dead letters, newest first, with a count per error code."""

    async def command() -> None:
        if state not in _STATES:
            raise UsageError("wrong_usage", f"{state!r} is no state: use one of {', '.join(_STATES)}.")
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            rows = await dead_letter.listing(connection, state=None if state == "all" else state, limit=limit)
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


@app.command("replay")
def replay(letter: LetterId) -> None:
    """Try again, under the same workflow id."""

    async def command() -> None:
        async with reach() as r:
            row = await _letter(r.dependencies, letter)
            if row["state"] in ("resolved", "discarded"):
                raise UsageError("settled", f"Letter {letter} is {row['state']}: there is nothing to replay.")
            # Settled first: if the job fails once more, it writes a letter of its own.
            await _settle(r.dependencies, letter, "replayed")
            await _replay(r, row)
        print_line(f"letter {letter} is replayed as {plain(row['workflow_id'])}")

    run(command)


@app.command("discard")
def discard(letter: LetterId) -> None:
    """Accept the loss; it will not be tried again."""

    async def command() -> None:
        async with database_only() as dependencies:
            row = await _letter(dependencies, letter)
            if not await _settle(dependencies, letter, "discarded"):
                raise UsageError("settled", f"Letter {letter} is {row['state']} already.")
            if row["kind"] == "deliver":
                async with transaction(dependencies.engine) as connection:
                    await notifications.discard(connection, row["input"]["delivery_id"])
        print_line(f"letter {letter} is discarded")

    run(command)


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
        series_id = await notifications.series_of(connection, job["chapter_id"])
    if series_id is None:
        raise UsageError("chapter_gone", "The chapter that message was about is gone.")
    await notify_again(r.client, series_id, job["chapter_id"])
