"""`fascicle summarize` and `fascicle request …`: pages that become summaries (R1–R5)."""

from typing import Annotated, Any

import typer

from activities.request_desk import Asked, Received, Reception, open_request_desk
from fascicle.domain.request import RequestStatus, RequestView
from fascicle.storage import library
from fascicle.storage import request_work as works
from fascicle.storage.database import transaction
from starter.context import Reach, check_is_text, database_only, reach, run
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note, print_table
from starter.user import user_named

app = typer.Typer(help="Requests: pages that are summarised.", no_args_is_help=True)

RequestId = Annotated[str, typer.Argument(metavar="ID", help="The request's id.")]
WaitFlag = Annotated[bool, typer.Option("--wait", help="Until it is done, and show it.")]
Within = Annotated[float, typer.Option(help="Seconds that --wait waits at most.", min=0, max=86_400)]
_COLUMNS = (
    "id",
    "status",
    "stage",
    "progress",
    "title",
    "url",
    "created_at",
    "calls",
    "tokens",
    "cost",
    "why",
)
_WORDS = {
    Reception.STARTED: "It is in line",
    Reception.JOINED: "It is being done already; you wait with the others",
    Reception.CACHED: "It was summarised before (--refresh does it anew)",
    Reception.RETRIED: "It failed before and is tried again; what was done is kept",
    Reception.LOCK_HELD: "It is being worked on (lock_held); this start was skipped",
}


def summarize(
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

    async def command() -> None:
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

    run(command, as_json=as_json)


async def submit(r: Reach, asked: Asked, *, as_json: bool) -> None:
    """Ask, and say what came of it; with exit code 1 if it was waited for and failed."""
    received = await open_request_desk(r.dependencies, r.client).submit(asked)
    _tell_of(received, as_json)
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
def list_requests(
    status: Annotated[
        list[RequestStatus] | None, typer.Option(help="Only with this status; repeatable.")
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only what this user asked for.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Requests, newest first."""

    async def command() -> None:
        async with reach() as r:
            user_id = None if user is None else await user_named(r.dependencies, user)
            views = await open_request_desk(r.dependencies, r.client).listing(
                statuses=status or (), user_id=user_id, limit=limit
            )
        rows = [request_facts(view) for view in views]
        if as_json:
            print_json(rows)
        else:
            shown = [row | {"why": _why(view)} for row, view in zip(rows, views, strict=True)]
            print_table(_COLUMNS, shown, empty="No requests: fascicle summarize URL")

    run(command, as_json=as_json)


@app.command("show")
def show(request_id: RequestId, as_json: AsJson = False) -> None:
    """All about one: where it stands, what it cost, what went wrong, the summary."""

    async def command() -> None:
        async with reach() as r:
            view = await open_request_desk(r.dependencies, r.client).show(request_id)
            async with transaction(r.dependencies.engine) as connection:
                people = await works.subscribers(connection, request_id)
        if as_json:
            print_json(request_facts(view) | {"subscribers": people})
            return
        facts = request_facts(view)
        print_facts({name: value for name, value in facts.items() if name != "summary" and value is not None})
        if people:
            print_line("")
            print_table(("user", "told", "subscribed_at"), people, empty="")
        _show_summary(view)

    run(command, as_json=as_json)


@app.command("retry")
def retry(request_id: RequestId, as_json: AsJson = False) -> None:
    """Try again one that failed or was cancelled. What its stages had done is not done, or paid, again."""

    async def command() -> None:
        async with reach() as r:
            _tell_of(await open_request_desk(r.dependencies, r.client).retry(request_id), as_json)

    run(command, as_json=as_json)


@app.command("cancel")
def cancel(request_id: RequestId, as_json: AsJson = False) -> None:
    """Stop one, wherever it is."""

    async def command() -> None:
        async with reach() as r:
            view = await open_request_desk(r.dependencies, r.client).cancel(request_id)
        print_json(request_facts(view)) if as_json else print_line(f"Cancelled {plain(request_id)}")

    run(command, as_json=as_json)


@app.command("spending")
def spending(
    days: Annotated[int, typer.Option(min=1, max=3650)] = 7,
    as_json: AsJson = False,
) -> None:
    """What models cost, by day (UTC), and what of the day's limit is left."""

    async def command() -> None:
        async with database_only() as dependencies:
            async with transaction(dependencies.engine) as connection:
                rows = await works.spending(connection, days)
            settings = dependencies.settings
        limits = {
            "daily_tokens": settings.llm_daily_tokens or None,
            "daily_cost": float(settings.llm_daily_cost) or None,
        }
        if as_json:
            print_json({"days": rows, "limits": limits})
            return
        columns = ("day", "requests", "calls", "tokens", "cost", "failed", "rejected")
        print_table(columns, rows, empty="No model was asked in these days.")
        print_facts({f"limit of {name.replace('_', ' ')}": value or "none" for name, value in limits.items()})

    run(command, as_json=as_json)


def request_facts(view: RequestView) -> dict[str, Any]:
    """For programs: the summary's fields side by side with where it comes from."""
    facts = view.model_dump(mode="json")
    if view.summary is not None:
        source = view.summary.model_dump(mode="json", exclude={"summary", "request_id", "url"})
        facts["summary"] = view.summary.summary.model_dump(mode="json") | source
    return {**facts, "finished": view.finished}


def _tell_of(received: Received, as_json: bool) -> None:
    view = received.view
    if as_json:
        print_json(request_facts(view) | {"reception": received.reception})
        return
    if view.summary is not None:
        _show_summary(view)
    elif view.error is not None and view.finished:
        print_line(f"[red]{view.status}[/] {plain(_why(view))}")
    else:
        where = f", number {view.position} in line" if view.position else ""
        print_line(f"{_WORDS[received.reception]}: request {plain(view.id)}, {view.status}{where}.")
        print_line(f"See `fascicle request show {plain(view.id)}`, or ask with --wait.")


def _show_summary(view: RequestView) -> None:
    if view.summary is None:
        return
    summary = view.summary.summary
    print_line(f"\n[bold]{plain(view.summary.title)}[/]  [dim]{plain(view.url)}[/]")
    print_line(
        f"[dim]{plain(view.summary.label)} {summary.language}, {summary.reading_time_minutes} min[/]\n"
    )
    print_line(plain(summary.summary_1000))
    print_line("")
    for idea in summary.key_ideas:
        print_line(f"- {plain(idea)}")
    print_line(f"\n[dim]{plain(', '.join(f'#{tag}' for tag in summary.topic_tags))}[/]")
    if summary.entities:
        print_line(f"[dim]{plain(', '.join(entity.name for entity in summary.entities))}[/]")


def _why(view: RequestView) -> str:
    if view.error is not None:
        return f"{view.error['error_code']}: {view.error['message']}"
    return view.waiting_for or ""
