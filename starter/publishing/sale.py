"""`fascicle sale …`: the sale queue, for people and for clients on this machine (P7)."""

from dataclasses import asdict
from typing import Annotated

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.publishing.automation_defaults import price_in_words
from fascicle.storage.database import transaction
from fascicle.storage.publishing import sale as sales
from starter.context import command, database_only, reading
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_table

app = typer.Typer(help="What automations put on sale.", no_args_is_help=True)

SaleId = Annotated[int, typer.Argument(metavar="ID", help="The sale's number.", min=1, max=2**63 - 1)]
Claim = Annotated[str, typer.Option(help="The claim that `next` gave.")]

_STATES = ("waiting", "ready", "claimed", "done", "failed", "cancelled", "all")


@app.command("list")
@command
async def list_sales(
    state: Annotated[str, typer.Option(help=f"{', '.join(_STATES)}.")] = "all",
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """The queue, newest first."""

    if state not in _STATES:
        raise UsageError("wrong_usage", f"{state!r} is no state: use one of {', '.join(_STATES)}.")
    wanted = None if state == "all" else state
    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        rows = await sales.listing(connection, state=wanted, limit=limit)
    if as_json:
        print_json(rows)
        return
    table = [{**row, "price": price_in_words(row["price"]), "error": row["last_error"]} for row in rows]
    columns = ("id", "title", "price", "state", "attempts", "claimed_by", "claimed_until", "error")
    print_table(columns, table, empty="Nothing: see `fascicle automation create --help` for --sale-points.")


@app.command("next")
@command
async def take_next(
    client: Annotated[str, typer.Option(help="Who takes it.")] = "cli", as_json: AsJson = False
) -> None:
    """Take the next item. Whoever does not complete it in time loses it to the next."""

    check_is_text(client)
    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        seconds = dependencies.settings.sale_claim_seconds
        item = await sales.take_next(connection, client, dependencies.clock(), seconds)
    if as_json:
        print_json(None if item is None else asdict(item))
    elif item is None:
        print_line("Nothing is ready.")
    else:
        print_facts({**asdict(item), "price": price_in_words(item.price)})


@app.command("complete")
@command
async def complete(sale_id: SaleId, claim: Claim, as_json: AsJson = False) -> None:
    """It is up for sale."""

    check_is_text(claim)
    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        state = await sales.complete(connection, sale_id, claim, dependencies.clock())
    _tell(sale_id, state, as_json=as_json)


@app.command("fail")
@command
async def fail(
    sale_id: SaleId,
    claim: Claim,
    error: Annotated[str, typer.Option(help="What went wrong.")],
    retry: Annotated[bool, typer.Option(help="Whether it is worth another try.")] = True,
    as_json: AsJson = False,
) -> None:
    """It did not work."""

    check_is_text(claim)
    check_is_text(error)
    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        now = dependencies.clock()
        state = await sales.fail(connection, sale_id, claim, error, retry=retry, now=now)
    _tell(sale_id, state, as_json=as_json)


@app.command("retry")
@command
async def retry(sale_id: SaleId, as_json: AsJson = False) -> None:
    """Put a failed or cancelled item back into the queue."""

    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        await sales.retry(connection, sale_id)
    _tell(sale_id, "waiting", as_json=as_json)


def sale_hints(failed: int) -> list[str]:
    """The hints of `status` about failed sales."""
    if not failed:
        return []
    return [f"{'1 sale' if failed == 1 else f'{failed} sales'} failed: fascicle sale list --state failed"]


def _tell(sale_id: int, state: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"id": sale_id, "state": state})
    else:
        print_line(f"Sale {sale_id} is {plain(state)}")
