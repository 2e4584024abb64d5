"""`fascicle reconcile`: starts all workflows again that Temporal has lost, from the database."""

from typing import Annotated

import typer

from fascicle.domain.errors import PermanentError
from fascicle.services.operations.missing_workflows import rebuild
from fascicle.services.operations.schedules import ensure_schedules
from fascicle.temporal.client import register_search_attributes
from starter.context import Reach, command, reach
from starter.options import AsJson
from starter.output import print_json, print_note, print_table, progress_bar

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what is missing.")]


@command
async def reconcile(dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Start every workflow that the database calls for and Temporal does not have. Repeatable."""

    refused: list[str] = []
    async with reach() as r:
        if not dry_run:
            await _prepare(r)
        with progress_bar("starting", None) as started:
            missing = await rebuild(
                r.dependencies, r.client, dry_run=dry_run, started=started, refused=refused
            )
    _tell(missing, dry_run, as_json)
    if refused:
        raise PermanentError(
            "refused", f"Temporal does not take {len(refused)} of them, the first is {refused[0]}"
        )


async def _prepare(r: Reach) -> None:
    """Register search attributes and schedules, which a Temporal that lost its data also lacks."""
    await register_search_attributes(r.client)
    await ensure_schedules(r.client, r.dependencies.settings)


def _tell(missing: dict[str, int], dry_run: bool, as_json: bool) -> None:
    total = sum(missing.values())
    word = "missing" if dry_run else "started"
    if as_json:
        print_json({word: missing, "total": total})
        return
    print_table(("kind", word), [{"kind": kind, word: count} for kind, count in missing.items()], empty="")
    if not total:
        print_note("Nothing was missing.")
