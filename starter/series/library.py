"""`fascicle library …`, `follow`, `unfollow`, `notifications`, `chapters`."""

from decimal import Decimal
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.series.chapter_key import number_of
from fascicle.domain.series.gaps import describe
from fascicle.services.dependencies import Dependencies
from fascicle.services.series.named_source import series_named
from fascicle.storage.database import transaction
from fascicle.storage.notifications import notification as notifications_table
from fascicle.storage.series import chapter as chapters_table
from fascicle.storage.series import library
from starter.context import command, database_only, reading
from starter.notifications.user import UserRef, checked_languages, checked_mode, user_named
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table

app = typer.Typer(
    help="What people follow, how they are told, and what they have read.", no_args_is_help=True
)

SeriesRef = Annotated[str, typer.Argument(help="A series' id or title (or a source's id).")]
Mode = Annotated[
    str | None, typer.Option(help="immediate, hourly, daily or off, for this series; `user`: as in general.")
]
Languages = Annotated[
    list[str] | None, typer.Option("--language", help="Only uploads in this language; repeatable; `any`.")
]
Prefer = Annotated[str | None, typer.Option(help="The site or source whose link messages carry.")]


@app.command("add")
@command
async def add(
    user: UserRef,
    series: SeriesRef,
    mode: Mode = None,
    language: Languages = None,
    prefer: Prefer = None,
    as_json: AsJson = False,
) -> None:
    """Tell USER about new chapters of SERIES. For what is followed already, the options are changed."""

    wishes = _entry_wishes(mode, language, prefer)
    async with database_only() as dependencies:
        user_id, (series_id, title) = await _pair(dependencies, user, series)
        async with transaction(dependencies.engine) as connection:
            brought = await library.brought(connection, series_id)
            _check_preference(wishes.get("preferred_source"), brought)
            new = await library.follow(connection, user_id, series_id)
            await library.set_entry(connection, user_id, series_id, wishes)
    for missing in _not_brought(wishes.get("languages"), brought):
        print_note(f"No source of {title} brings {missing}: fascicle source add URL --language {missing}")
    if as_json:
        print_json({"user": user, "series_id": series_id, "created": new, **wishes})
        return
    word = "now follows" if new else "already follows"
    changed = f"; changed: {', '.join(wishes)}" if wishes and not new else ""
    print_line(f"{plain(user)} {word} {plain(title)}{changed}")


@app.command("remove")
@command
async def remove(user: UserRef, series: SeriesRef, as_json: AsJson = False) -> None:
    """Stop telling USER about SERIES."""

    async with database_only() as dependencies:
        user_id, (series_id, title) = await _pair(dependencies, user, series)
        async with transaction(dependencies.engine) as connection:
            gone = await library.unfollow(connection, user_id, series_id)
    if as_json:
        print_json({"user": user, "series_id": series_id, "removed": gone})
    else:
        print_line(f"{plain(user)} {'no longer follows' if gone else 'did not follow'} {plain(title)}")


@app.command("read")
@command
async def read(
    user: UserRef,
    series: SeriesRef,
    chapter: Annotated[str, typer.Argument(help="The last chapter read (45), or `none`.")],
    volume: Annotated[
        str | None, typer.Option(help="Its volume, where numbering begins anew in each.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """USER has read SERIES up to CHAPTER: nobody is told of what they have read."""

    number = None if chapter.lower() == "none" else _number(chapter, "chapter")
    in_volume = None if volume is None or number is None else _number(volume, "volume")
    async with database_only() as dependencies:
        user_id, (series_id, title) = await _pair(dependencies, user, series)
        async with transaction(dependencies.engine) as connection:
            brought = await library.brought(connection, series_id)
            if brought.numbering_restarts and number is not None and in_volume is None:
                raise UsageError("wrong_usage", f"{title} counts anew in each volume: say --volume, too.")
            if not await library.mark_read(connection, user_id, series_id, number, in_volume):
                raise _does_not_follow(user, title)
    if as_json:
        print_json({"user": user, "series_id": series_id, "read": number, "volume": in_volume})
        return
    upto = f"up to {number:f}" if number is not None else "nothing"
    print_line(f"{plain(user)} has read {upto} of {plain(title)}")


@app.command("mode")
@command
async def mode(
    user: UserRef,
    mode: Annotated[str, typer.Argument(help="immediate, hourly, daily, off; with --series also `user`.")],
    series: Annotated[str | None, typer.Option(help="For this series only.")] = None,
) -> None:
    """How USER is told: of everything, or of one series."""

    async with database_only() as dependencies:
        if series is None:
            user_id = await user_named(dependencies, user)
            async with transaction(dependencies.engine) as connection:
                await library.set_wishes(connection, user_id, {"mode": checked_mode(mode)})
            print_line(f"{plain(user)} is told: {plain(mode.lower())}")
            return
        user_id, (series_id, title) = await _pair(dependencies, user, series)
        async with transaction(dependencies.engine) as connection:
            wishes = _entry_wishes(mode, None, None)
            if not await library.set_entry(connection, user_id, series_id, wishes):
                raise _does_not_follow(user, title)
    print_line(f"{plain(user)} is told of {plain(title)}: {plain(mode.lower())}")


@app.command("list")
@command
async def list_entries(user: UserRef, as_json: AsJson = False) -> None:
    """What USER follows, and how far they have read."""

    async with reading() as dependencies:
        user_id = await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            rows = await library.entries(connection, user_id)
    if as_json:
        print_json(rows)
        return
    columns = (
        "series",
        "latest_chapter",
        "read_number",
        "unread",
        "mode",
        "languages",
        "preferred_source",
    )
    print_table(columns, rows, empty="Nothing yet: fascicle library add USER SERIES")


@command
async def notifications(
    user: UserRef, limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50, as_json: AsJson = False
) -> None:
    """What USER was told, newest first, and whether each message arrived."""

    async with reading() as dependencies:
        user_id = await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            rows = await notifications_table.of_user(connection, user_id, limit)
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "delivered": _delivered(row)} for row in rows]
    print_table(("created_at", "series", "key", "title", "mode", "delivered"), shown, empty="Nothing yet.")


@command
async def chapters(series: SeriesRef, as_json: AsJson = False) -> None:
    """The chapters of SERIES in reading order, with where each can be read, and what is missing."""

    async with reading() as dependencies:
        series_id, _ = await series_named(dependencies, series)
        async with transaction(dependencies.engine) as connection:
            rows = await chapters_table.of_series(connection, series_id)
            gaps = await chapters_table.gaps(connection, series_id)
    if as_json:
        print_json(rows)
        return
    shown = [{**row, "sources": [_where(s) for s in row["sources"]]} for row in rows]
    columns = ("key", "volume", "title", "published_at", "first_detected_at", "sources")
    print_table(columns, shown, empty="No chapters yet.")
    if gaps:
        print_note(f"no source has: {describe(gaps)}")


def _where(source: dict[str, Any]) -> str:
    return source["site"] if source["available"] else f"{source['site']} (gone)"


def _delivered(row: dict[str, Any]) -> Any:
    if row["deliveries"]:
        return [delivery["state"] for delivery in row["deliveries"]]
    if row["mode"] == "dropped":
        return "dropped: read or no longer followed"
    return "no channel" if row["mode"] == "immediate" else row["digest_at"]


def _entry_wishes(mode: str | None, language: list[str] | None, prefer: str | None) -> dict[str, Any]:
    wishes: dict[str, Any] = {}
    if mode is not None:
        wishes["mode"] = None if mode.lower() == "user" else checked_mode(mode)
    if language is not None:
        wishes["languages"] = checked_languages(language)
    if prefer is not None:
        wishes["preferred_source"] = prefer.strip() or None
    return wishes


def _check_preference(preferred: str | None, brought: library.Brought) -> None:
    if preferred is not None and preferred not in (*brought.sites, *brought.sources):
        known = ", ".join([*brought.sites, *brought.sources]) or "none yet"
        raise UsageError(
            "unknown_source", f"{preferred!r} is no site or source of the series. It has: {known}."
        )


def _not_brought(languages: list[str] | None, brought: library.Brought) -> list[str]:
    """Languages that no source fetches: no message about them would ever come."""
    if brought.any_language:
        return []
    return [language for language in languages or [] if language not in brought.languages]


def _number(text: str, what: str) -> Decimal:
    number = number_of(text)
    if number is None:
        raise UsageError("wrong_usage", f"{text!r} is no {what}: use a number such as 45 or 45.5.")
    return number


def _does_not_follow(user: str, title: str) -> UsageError:
    return UsageError("not_followed", f"{user} does not follow {title}: fascicle library add USER SERIES")


async def _pair(dependencies: Dependencies, user: str, series: str) -> tuple[str, tuple[str, str]]:
    return await user_named(dependencies, user), await series_named(dependencies, series)
