"""`fascicle user`, `follow`, `unfollow`, `notifications`, `chapters`."""

from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.notifier import check_channel, masked
from fascicle.storage import chapter as chapters_table
from fascicle.storage import library
from fascicle.storage import notification as notifications_table
from fascicle.storage.database import transaction
from starter.context import database_only, run
from starter.onboarding import series_named
from starter.output import plain, print_json, print_line, print_table
from starter.source import AsJson

user_app = typer.Typer(help="People who follow series.", no_args_is_help=True)

SeriesRef = Annotated[str, typer.Argument(help="A series' id or title (or a source's id).")]
UserRef = Annotated[str, typer.Argument(help="A user's name.")]

MAX_NAME = 100


@user_app.command("add")
def add_user(
    name: str,
    notify: Annotated[
        list[str] | None, typer.Option(help="Apprise URL to send messages to; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add a user, or another channel to one."""

    async def command() -> None:
        _check_name(name)
        urls = [check_channel(url) for url in notify or []]
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            user_id, created = await library.add_user(connection, name)
            added = [url for url in urls if await library.add_channel(connection, user_id, url)]
        if as_json:
            print_json({"id": user_id, "name": name, "created": created, "channels_added": len(added)})
            return
        word = "added" if created else "was there already"
        print_line(f"User [bold]{plain(name)}[/] {word}; {len(added)} new channel{'s' * (len(added) != 1)}")

    run(command)


@user_app.command("list")
def list_users(as_json: AsJson = False) -> None:
    """All users; the secrets in their channels are masked."""

    async def command() -> None:
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            rows = await library.users(connection)
        rows = [{**row, "channels": [masked(url) for url in row["channels"]]} for row in rows]
        if as_json:
            print_json(rows)
        else:
            print_table(("name", "id", "follows", "channels"), rows, empty="No users: fascicle user add NAME")

    run(command)


def follow(user: UserRef, series: SeriesRef) -> None:
    """Tell USER about new chapters of SERIES."""

    async def command() -> None:
        async with database_only() as dependencies:
            user_id, (series_id, title) = await _pair(dependencies, user, series)
            async with transaction(dependencies.engine) as connection:
                new = await library.follow(connection, user_id, series_id)
        print_line(f"{plain(user)} {'now follows' if new else 'already follows'} {plain(title)}")

    run(command)


def unfollow(user: UserRef, series: SeriesRef) -> None:
    """Stop telling USER about SERIES."""

    async def command() -> None:
        async with database_only() as dependencies:
            user_id, (series_id, title) = await _pair(dependencies, user, series)
            async with transaction(dependencies.engine) as connection:
                gone = await library.unfollow(connection, user_id, series_id)
        print_line(f"{plain(user)} {'no longer follows' if gone else 'did not follow'} {plain(title)}")

    run(command)


def notifications(
    user: UserRef, limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50, as_json: AsJson = False
) -> None:
    """What USER was told, newest first, and whether each message arrived."""

    async def command() -> None:
        async with database_only() as dependencies:
            user_id = await _user(dependencies, user)
            async with transaction(dependencies.engine) as connection:
                rows = await notifications_table.of_user(connection, user_id, limit)
        if as_json:
            print_json(rows)
            return
        shown = [
            {**row, "delivered": [d["state"] for d in row["deliveries"]] or "no channel"} for row in rows
        ]
        print_table(("created_at", "series", "key", "title", "delivered"), shown, empty="Nothing yet.")

    run(command)


def chapters(series: SeriesRef, as_json: AsJson = False) -> None:
    """The chapters of SERIES in reading order, with where each can be read."""

    async def command() -> None:
        async with database_only() as dependencies:
            series_id, _ = await series_named(dependencies, series)
            async with transaction(dependencies.engine) as connection:
                rows = await chapters_table.of_series(connection, series_id)
        if as_json:
            print_json(rows)
            return
        shown = [{**row, "sources": [_where(s) for s in row["sources"]]} for row in rows]
        columns = ("key", "volume", "title", "published_at", "first_detected_at", "sources")
        print_table(columns, shown, empty="No chapters yet.")

    run(command)


def _where(source: dict[str, Any]) -> str:
    return source["site"] if source["available"] else f"{source['site']} (gone)"


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise UsageError("wrong_name", f"A name is 1 to {MAX_NAME} printable characters.")


async def _user(dependencies: Dependencies, wanted: str) -> str:
    async with transaction(dependencies.engine) as connection:
        user_id = await library.find_user(connection, wanted)
    if user_id is None:
        raise UsageError("unknown_user", f"There is no user {wanted!r}. Add one: fascicle user add NAME")
    return user_id


async def _pair(dependencies: Dependencies, user: str, series: str) -> tuple[str, tuple[str, str]]:
    return await _user(dependencies, user), await series_named(dependencies, series)
