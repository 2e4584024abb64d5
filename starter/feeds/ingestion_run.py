"""`fascicle run …`: listing the looks at feeds, and replaying one (I6)."""

import asyncio
import time
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.feeds import run as runs
from fascicle.storage.series import source as sources
from starter.context import Reach, command, reach, reading
from starter.feeds.named_feed import FeedOption, feed_named
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note, print_table

app = typer.Typer(help="Runs: every look at a feed.", no_args_is_help=True)

RunId = Annotated[int, typer.Argument(help="The run's number.", min=1, max=2**63 - 1)]
_COUNTS = ("entries", "new", "updated", "renamed", "silent", "failed", "delivered")
_COLUMNS = ("id", "feed", "outcome", "started_at", *_COUNTS, "error")
_LOOK_EVERY_SECONDS = 0.2


@app.command("list")
@command
async def list_runs(
    feed: FeedOption = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those that failed, whole or in part.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Looks at feeds, newest first."""

    async with reading() as dependencies:
        source_id = (await feed_named(dependencies, feed))["id"] if feed is not None else None
        async with transaction(dependencies.engine) as connection:
            rows = await runs.listing(connection, source_id=source_id, failed=failed, limit=limit)
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, map(_shown, rows), empty="No runs.")


@app.command("show")
@command
async def show(run_id: RunId, as_json: AsJson = False) -> None:
    """One look: what it found, how long it took, what failed."""

    async with reading() as dependencies:
        row = await _run(dependencies, run_id)
    if as_json:
        print_json(row)
        return
    letters = row.pop("letters")
    print_facts({name: value for name, value in row.items() if value is not None})
    if letters:
        print_line("")
        print_table(("id", "kind", "job_key", "error_code", "state"), letters, empty="")


@app.command("replay")
@command
async def replay(
    run_id: RunId,
    wait: Annotated[float, typer.Option(help="Seconds to wait for what comes of it.", min=0, max=600)] = 10,
    as_json: AsJson = False,
) -> None:
    """Read a run's document again; nothing is stored or delivered twice. Ends with 1 if it failed."""

    async with reach() as r:
        row = await _run(r.dependencies, run_id)
        done = await _replayed(r, row, wait)
    if done is None:
        print_note(f"Run {run_id} will be replayed; see `fascicle run list`.")
        print_json({"replay_of": run_id, "outcome": None}) if as_json else None
        return
    if as_json:
        print_json(done)
    else:
        print_line(f"run {run_id} is replayed as {done['id']}: {done['outcome']}, {plain(_found(done))}")
    if done["outcome"] == "failed":
        raise typer.Exit(1)


async def _run(dependencies: Dependencies, run_id: int) -> dict[str, Any]:
    async with transaction(dependencies.engine) as connection:
        row = await runs.get(connection, run_id)
    if row is None:
        raise UsageError("unknown_run", f"There is no run {run_id} (any more). See `fascicle run list`.")
    return row


async def _replayed(r: Reach, row: dict[str, Any], wait: float) -> dict[str, Any] | None:
    """The run of the replay; None: it did not finish in time."""
    from fascicle.services.series.onboarding import ensure_workflow

    async with transaction(r.dependencies.engine) as connection:
        source = await sources.get(connection, row["source_id"])
        newest = await runs.newest_id(connection)
    if source is None or source.removed_at is not None:
        raise UsageError("not_followed", f"Nobody follows {row['feed']} any more, so it is not read again.")
    handle = await ensure_workflow(r.dependencies, r.client, source.id)
    await handle.signal("replay", str(row["id"]))
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_EVERY_SECONDS)
        async with transaction(r.dependencies.engine) as connection:
            if done := await runs.latest_replay(connection, row["id"], after=newest):
                return done
    return None


def _found(row: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {row[name]}" for name in _COUNTS if row[name])
    return counts or row["error"] or "no entries"


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    outcome = row["outcome"]
    if row["flood"] and outcome != "flood":
        outcome = f"{outcome} (flood)"
    return {**row, "outcome": outcome, "error": row["error_code"]}
