"""`fascicle summarize` and `fascicle request …`: pages that become summaries (R1–R5)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.given_text import check_is_text
from fascicle.domain.summaries.request import Asked, RequestStatus
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from fascicle.storage.summaries import request_work as works
from starter.context import Reach, command, reach, reading
from starter.notifications.user import user_named
from starter.options import AsJson
from starter.output import errors, plain, print_facts, print_json, print_line, print_note, print_table
from starter.summaries.request_view import (
    COLUMNS,
    money,
    request_facts,
    request_row,
    show_request,
    show_summary,
    tell_of,
)

if TYPE_CHECKING:
    from fascicle.services.summaries.requests import RequestDesk
app = typer.Typer(help="Requests: pages that are summarised.", no_args_is_help=True)

RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id.")]
WaitFlag = Annotated[bool, typer.Option("--wait", help="Until it is done, and show it.")]
Within = Annotated[float, typer.Option(help="Seconds that --wait waits at most.", min=0, max=86_400)]


@command
async def summarize(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page's address.")],
    user: Annotated[
        str | None, typer.Option("--user", help="Who is told when it is done; made if there is no such user.")
    ] = None,
    wait: WaitFlag = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Also if it was summarised before.")] = False,
    within: Within = 600,
    request_id: Annotated[
        str | None, typer.Option("--id", help="An id of your own: asked twice, it is one request.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a page summarised. However many ask for it, it is read, and paid for, once."""

    check_is_text(url)
    asked = Asked(
        url=url,
        user=user,
        refresh=refresh,
        request_id=request_id,
        wait_seconds=within if wait else 0,
    )
    async with reach() as r:
        await submit(r, asked, as_json=as_json)


async def submit(r: Reach, asked: Asked, *, as_json: bool) -> None:
    """Submit the request and print the result; exit code 1 if we waited for it and it failed."""

    def on_wait(request_id: str) -> None:
        if errors.is_terminal and not as_json:
            print_note(f"Waiting for request {request_id}. Ctrl-C leaves it to itself.")

    received = await _desk(r).submit(asked, on_wait)
    tell_of(received, waited=asked.wait_seconds, as_json=as_json)
    view = received.view
    if asked.user is not None and not view.finished:
        async with transaction(r.dependencies.engine) as connection:
            if not await library.has_channel(connection, asked.user):
                print_note(
                    f"{asked.user} has no channel to be told through: "
                    f"fascicle user add {asked.user} --notify URL"
                )
    if asked.wait_seconds > 0 and view.status in (RequestStatus.FAILED, RequestStatus.CANCELLED):
        raise typer.Exit(1)


@app.command("list")
@command
async def list_requests(
    status: Annotated[
        list[RequestStatus] | None, typer.Option(help="Only with this status; repeatable.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only what this user asked for.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Requests, newest first."""

    async with reading() as dependencies:
        user_id = None if user is None else await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            views = await works.views(connection, statuses=status or (), user_id=user_id, limit=limit)
    if as_json:
        print_json([request_facts(view) for view in views])
    else:
        empty = "None of these." if status or user else "No requests: fascicle summarize URL"
        print_table(COLUMNS, map(request_row, views), empty=empty)


@app.command("show")
@command
async def show(request_id: RequestId, as_json: AsJson = False) -> None:
    """All about one: where it stands, what it cost, what went wrong, the summary."""

    async with reach() as r:
        view = await _desk(r).show(request_id)
        async with transaction(r.dependencies.engine) as connection:
            people = await works.subscribers(connection, request_id)
    if as_json:
        print_json(request_facts(view) | {"subscribers": people})
        return
    show_request(view)
    if people:
        print_line("")
        print_table(("user", "told", "subscribed_at"), people, empty="")
    show_summary(view)


@app.command("retry")
@command
async def retry(request_id: RequestId, as_json: AsJson = False) -> None:
    """Try again one that failed, was cancelled, or waits. What its stages had done is not paid again."""

    async with reach() as r:
        received = await _desk(r).retry(request_id)
    tell_of(received, as_json=as_json)


@app.command("cancel")
@command
async def cancel(request_id: RequestId, as_json: AsJson = False) -> None:
    """Stop one, wherever it is."""

    async with reach() as r:
        view = await _desk(r).cancel(request_id)
    print_json(request_facts(view)) if as_json else print_line(f"Cancelled {plain(request_id)}")


@app.command("spending")
@command
async def spending(
    days: Annotated[int, typer.Option(min=1, max=3650)] = 7,
    as_json: AsJson = False,
) -> None:
    """What models cost, by day (UTC), and what a day may cost."""

    async with reading() as dependencies:
        async with transaction(dependencies.engine) as connection:
            rows = await works.spending(connection, days)
        settings = dependencies.settings
    limits: dict[str, float | None] = {
        "tokens": settings.llm_daily_tokens or None,
        "cost": float(settings.llm_daily_cost) or None,
    }
    today = next((row for row in rows if row["day"] == f"{datetime.now(UTC):%Y-%m-%d}"), None)
    left = {
        name: None if most is None else max(0, most - (today[name] if today else 0))
        for name, most in limits.items()
    }
    if as_json:
        print_json({"days": rows, "limits": limits, "left_today": left})
        return
    shown = [row | {"cost": money(row["cost"])} for row in rows]
    columns = ("day", "requests", "calls", "tokens", "cost", "failed", "rejected")
    print_table(columns, shown, empty="No model was asked in these days.")
    print_line("")
    print_facts(
        {
            f"{name} left today": "no limit" if most is None else f"{_amount(left[name])} of {_amount(most)}"
            for name, most in limits.items()
        }
    )


def _desk(r: Reach) -> "RequestDesk":
    from fascicle.services.summaries.requests import (
        open_request_desk,  # imports Temporal's SDK, which a list does not need
    )

    return open_request_desk(r.dependencies, r.client)


def request_hints(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The hints of `status` about failures that a person can fix, and about long waits."""
    return [
        f"{row['requests']} requests failed with {row['code']}: {row['why']} "
        "Then: fascicle request list --status failed"
        if row["code"]
        else f"{row['requests']} requests wait until {row['until']:%d %b %H:%M} UTC: {row['why']}"
        for row in rows
    ]


def _amount(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else money(value or 0)
