"""`fascicle automation …`: rules that publish drafts by themselves (P7)."""

from datetime import datetime, timedelta
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.publishing.automation import Window, next_windows
from fascicle.domain.times import zone_named
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.publishing import automation as automations
from fascicle.storage.publishing import firing as firings
from fascicle.storage.publishing import post as posts
from fascicle.storage.publishing.automation import MAX_JITTER_SECONDS, NewAutomation
from starter.context import command, database_only, reach, reading
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table
from starter.publishing.account import account_named
from starter.publishing.automation_options import RuleOptions, check_name, defaults_of, price_of, rule_of
from starter.publishing.automation_view import (
    foreseen,
    print_foreseen,
    print_runs,
    print_shown,
    rule_in_words,
    shown,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

app = typer.Typer(help="Rules that publish drafts by themselves.", no_args_is_help=True)

AutomationRef = Annotated[str, typer.Argument(metavar="NAME", help="An automation's name or id.")]


@app.command("create")
@command
async def create(
    name: str,
    account: Annotated[str, typer.Option(help="The account whose drafts it publishes (name or id).")],
    at: Annotated[list[str] | None, typer.Option(help="Time of day, 18:00; repeatable.")] = None,
    every: Annotated[int | None, typer.Option(metavar="MINUTES", help="Every so many minutes.")] = None,
    per_day: Annotated[int | None, typer.Option(metavar="N", help="So many a day, spread evenly.")] = None,
    between: Annotated[str | None, typer.Option(help="The hours for --per-day: 9-22.")] = None,
    days: Annotated[str | None, typer.Option(help="Only on these days: mon,wed.")] = None,
    time_zone: Annotated[str | None, typer.Option(help="Europe/Berlin; else the account owner's.")] = None,
    strategy: Annotated[
        Literal["fifo", "lifo", "random"], typer.Option(help="Which draft: oldest, newest or any.")
    ] = "fifo",
    default: Annotated[
        list[str] | None, typer.Option(help="name=value for what a draft leaves unset; repeatable.")
    ] = None,
    jitter: Annotated[
        float, typer.Option(metavar="SECONDS", help="Up to so much later.", min=0, max=MAX_JITTER_SECONDS)
    ] = 0,
    sale_points: Annotated[int | None, typer.Option(help="Put it on sale for so many points.")] = None,
    sale_price: Annotated[str | None, typer.Option(help="Put it on sale for this: 12.50USD.")] = None,
    as_json: AsJson = False,
) -> None:
    """Publish drafts of an account by a rule: --at, --every or --per-day."""

    check_name(name)
    rule = rule_of(RuleOptions(at or [], every, per_day, between, days))
    values = {
        "rule": rule,
        "defaults": defaults_of(default or []),
        "sale": price_of(sale_points, sale_price),
    }
    async with database_only() as dependencies:
        now = dependencies.clock()
        account_id = await account_named(dependencies, account)
        async with transaction(dependencies.engine) as connection:
            zone = zone_named(time_zone or await _owners_zone(connection, account_id))
            if not next_windows(rule, zone, now, now, 1):
                raise UsageError("wrong_usage", "It would never fire: the interval never meets those days.")
            new = NewAutomation(
                account_id=account_id,
                name=name,
                time_zone=zone.key,
                strategy=strategy,
                jitter_seconds=jitter,
                **values,
            )
            view = await _created(connection, new, now)
    if as_json:
        print_json(view)
        return
    print_line(
        f"[bold]{plain(name)}[/] publishes drafts of {plain(view['account'])}: {view['rule_in_words']}"
    )
    print_line(f"next: {view['next_windows'][0]['local']}; try: fascicle automation test {plain(name)}")


async def _created(connection: "AsyncConnection", new: NewAutomation, now: datetime) -> dict[str, Any]:
    automation_id = await automations.create(connection, new, now)
    row = None if automation_id is None else await automations.get(connection, automation_id)
    if row is None:
        raise UsageError(
            "exists",
            f"The account has an automation {new.name!r} already: take another name, or "
            f"`fascicle automation delete` it first.",
        )
    return await shown(connection, row, now)


async def _owners_zone(connection: "AsyncConnection", account_id: str) -> str:
    zone = await posts.zone_of_account(connection, account_id)
    if zone is None:
        raise UsageError(
            "no_time_zone",
            "Whose clock? The account's owner has chosen no time zone: say --time-zone Europe/Berlin, "
            "or `fascicle user set USER --time-zone …`.",
        )
    return zone


@app.command("list")
@command
async def list_automations(as_json: AsJson = False) -> None:
    """All automations."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        rows = await automations.listing(connection)
    rows = [{**row, "rule_in_words": rule_in_words(row)} for row in rows]
    if as_json:
        print_json(rows)
        return
    columns = ("name", "account", "enabled", "rule", "time_zone", "strategy", "last_scheduled_at")
    table = [
        {**row, "rule": row["rule_in_words"], "enabled": "yes" if row["enabled"] else "no"} for row in rows
    ]
    print_table(columns, table, empty="None yet: fascicle automation create NAME --account A --at 18:00")


@app.command("show")
@command
async def show(name: AutomationRef, as_json: AsJson = False) -> None:
    """One automation: its rule, the next windows, the drafts that wait, what it did last."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        view = await shown(connection, row, dependencies.clock())
    print_json(view) if as_json else print_shown(view)


@app.command("enable")
@command
async def enable(name: AutomationRef, as_json: AsJson = False) -> None:
    """Let it fire again. Windows of the time it was disabled are not made up for."""

    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        changed = await automations.enable(connection, row["id"], dependencies.clock())
    _tell(row, "enabled", changed, as_json=as_json)


@app.command("disable")
@command
async def disable(name: AutomationRef, as_json: AsJson = False) -> None:
    """Let it fire no more. What it has scheduled stays scheduled."""

    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        changed = await automations.disable(connection, row["id"])
    _tell(row, "disabled", changed, as_json=as_json)


@app.command("delete")
@command
async def delete(name: AutomationRef, as_json: AsJson = False) -> None:
    """Forget it and its log. What it has scheduled stays scheduled."""

    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        await automations.delete(connection, row["id"])
    _tell(row, "deleted", True, as_json=as_json)


@app.command("test")
@command
async def rehearse(name: AutomationRef, as_json: AsJson = False) -> None:
    """What it would do now and in its next windows. Changes nothing."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        every = timedelta(seconds=dependencies.settings.automation_every_seconds)
        view = await foreseen(connection, automations.checked(row), dependencies.clock(), every)
    if as_json:
        print_json({**view, "enabled": row["enabled"], "account_paused": row["account_paused"]})
        return
    if not row["enabled"]:
        print_note("It is disabled: this is what it would do.")
    if row["account_paused"]:
        print_note("Its account is paused: nothing fires until it is connected again.")
    print_foreseen(view)


@app.command("run")
@command
async def run_now(name: AutomationRef, as_json: AsJson = False) -> None:
    """Publish a draft by it now, whatever its rule says."""

    async with reach() as r:
        row, firing = await _fire(r.dependencies, name)
        if firing.post_id is not None:
            await _look_after(r.client, firing, row["account_id"])
    if as_json:
        filled = list(firing.filled)
        print_json(
            {
                "automation": row["name"],
                "outcome": firing.outcome,
                "post_id": firing.post_id,
                "filled": filled,
            }
        )
    elif firing.post_id is None:
        print_line(f"{plain(row['account'])} has no draft that is ready: nothing was scheduled")
    else:
        print_line(f"[bold]{plain(firing.title)}[/] is scheduled ({firing.post_id})")
    if row["account_paused"]:
        print_note("The account is paused: its posts wait until it is connected again.")


@app.command("log")
@command
async def log(
    name: AutomationRef,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """What came of its windows, newest first."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        runs = await automations.runs(connection, row["id"], limit)
    print_json(runs) if as_json else print_runs(runs)


async def _named(connection: "AsyncConnection", wanted: str) -> dict[str, Any]:
    check_is_text(wanted)
    return await automations.named(connection, wanted)


async def _fire(dependencies: Dependencies, name: str) -> tuple[dict[str, Any], firings.Firing]:
    now = dependencies.clock()
    async with transaction(dependencies.engine) as connection:
        row = await _named(connection, name)
        window = Window(f"manual-{now:%Y-%m-%dT%H:%M:%S.%fZ}", now)
        firing = await firings.fire(connection, automations.checked(row), window, now, SystemRandom())
    return row, firing or firings.Firing()


async def _look_after(client: Any, firing: firings.Firing, account_id: str) -> None:
    from temporalio.service import RPCError

    from fascicle.jobs.publishing import post_job
    from fascicle.temporal.workflow_start import start_job

    assert firing.post_id is not None
    try:
        await start_job(client, post_job(firing.post_id, title=firing.title or "", account_id=account_id))
    except RPCError as error:
        print_note(
            f"Temporal did not hear of it ({error.message}); the reconciliation will tell it in a minute."
        )


def _tell(row: dict[str, Any], word: str, changed: bool, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": row["id"], "name": row["name"], "state": word, "changed": changed})
    else:
        print_line(f"[bold]{plain(row['name'])}[/] {'is' if changed else 'was already'} {word}")
