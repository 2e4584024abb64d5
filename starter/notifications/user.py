"""`fascicle user …`: people, their channels, and their wishes about messages."""

import re
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import Dependencies
from fascicle.services.notifications.channels import check_is_allowed, masked
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel
from fascicle.storage.series import library
from starter.context import check_keys, command, database_only, reading
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_table
from starter.series.source import check_languages

app = typer.Typer(help="People who follow series.", no_args_is_help=True)

UserRef = Annotated[str, typer.Argument(help="A user's name.")]
Trusted = Annotated[
    bool,
    typer.Option("--trusted", help="Allow any kind of Apprise URL, also those that act on this machine."),
]

MAX_NAME = 100
MAX_CAP = 1_000_000
MAX_ADDRESS = 254
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+")
MODES = ("immediate", "hourly", "daily", "off")


@app.command("add")
@command
async def add_user(
    name: str,
    notify: Annotated[
        list[str] | None, typer.Option(help="Apprise URL to send messages to; repeatable.")
    ] = None,
    trusted: Trusted = False,
    email: Annotated[str | None, typer.Option(help="Where their accounts' warnings go.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a user, or another channel to one."""

    check_name(name)
    address = None if email is None else _email(email)
    async with database_only() as dependencies:
        urls = [_usable(url, dependencies.settings, trusted=trusted) for url in notify or []]
        if urls:
            check_keys(dependencies.settings)
        async with transaction(dependencies.engine) as connection:
            user_id, created = await library.add_user(connection, name)
            added = [url for url in urls if await add_channel(connection, dependencies.vault, user_id, url)]
            if email is not None:
                await library.set_wishes(connection, user_id, {"email": address})
    if as_json:
        print_json({"id": user_id, "name": name, "created": created, "channels_added": len(added)})
        return
    word = "added" if created else "was there already"
    print_line(f"User [bold]{plain(name)}[/] {word}; {len(added)} new channel{'s' * (len(added) != 1)}")


@app.command("list")
@command
async def list_users(as_json: AsJson = False) -> None:
    """All users; the secrets in their channels are masked."""

    async with reading() as dependencies, transaction(dependencies.engine) as connection:
        rows = await library.users(connection)
    rows = [{**row, "channels": [masked(kind) for kind in row["channels"]]} for row in rows]
    if as_json:
        print_json(rows)
        return
    columns = ("name", "id", "follows", "mode", "languages", "time_zone", "email", "channels")
    print_table(columns, rows, empty="No users: fascicle user add NAME")


@app.command("set")
@command
async def set_wishes(
    user: UserRef,
    mode: Annotated[str | None, typer.Option(help=f"{', '.join(MODES)}.")] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Language they read; repeatable; `any` for all.")
    ] = None,
    time_zone: Annotated[str | None, typer.Option(help="For the daily digest: Europe/Berlin.")] = None,
    digest_hour: Annotated[int | None, typer.Option(help="Hour of the daily digest.", min=0, max=23)] = None,
    cap: Annotated[
        str | None, typer.Option(help="Messages a day before the rest becomes a digest; or `default`.")
    ] = None,
    email: Annotated[str | None, typer.Option(help="Where their accounts' warnings go; or `none`.")] = None,
    as_json: AsJson = False,
) -> None:
    """How a user wants to be told."""

    wishes = {
        "mode": None if mode is None else checked_mode(mode),
        "languages": None if language is None else checked_languages(language) or [],
        "time_zone": time_zone,
        "digest_hour": digest_hour,
    }
    given: dict[str, Any] = {name: value for name, value in wishes.items() if value is not None}
    if cap is not None:
        given["daily_cap"] = _cap(cap)
    if email is not None:
        given["email"] = _email(email)
    if not given:
        raise UsageError("wrong_usage", "Nothing to set. See `fascicle user set --help`.")
    async with database_only() as dependencies:
        user_id = await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            if time_zone is not None and not await library.is_time_zone(connection, time_zone):
                raise UsageError(
                    "wrong_time_zone", f"{time_zone!r} is no time zone: use names such as Europe/Berlin."
                )
            await library.set_wishes(connection, user_id, given)
    if as_json:
        print_json({"user": user, **given})
    else:
        if given.get("email", "") is None:
            given["email"] = "none"
        print_line(f"{plain(user)}: " + plain(", ".join(f"{n} {_words(v)}" for n, v in given.items())))


async def user_named(dependencies: Dependencies, wanted: str) -> str:
    check_is_text(wanted)
    async with transaction(dependencies.engine) as connection:
        user_id = await library.find_user(connection, wanted)
    if user_id is None:
        raise UsageError("unknown_user", f"There is no user {wanted!r}. Add one: fascicle user add NAME")
    return user_id


def checked_mode(mode: str) -> str:
    if mode.lower() not in MODES:
        raise UsageError("wrong_usage", f"{mode!r} is no mode: use one of {', '.join(MODES)}.")
    return mode.lower()


def checked_languages(languages: list[str]) -> list[str] | None:
    """None: any language."""
    if "any" in languages:
        if len(languages) > 1:
            raise UsageError("wrong_usage", "Either `any`, or the languages one by one.")
        return None
    check_languages(languages)
    return languages


def _usable(url: str, settings: Settings, *, trusted: bool) -> str:
    from fascicle.services.notifications.channel_check import check_channel

    channel = check_channel(url)
    if not trusted:
        check_is_allowed(channel, settings.channel_schemas)
    return url


def _cap(text: str) -> int | None:
    """None: the default of the settings."""
    if text == "default":
        return None
    if not text.isascii() or not text.isdigit() or int(text) > MAX_CAP:
        raise UsageError("wrong_usage", f"A cap is a number up to {MAX_CAP}, or `default`.")
    return int(text)


def _email(text: str) -> str | None:
    """None: no address."""
    if text == "none":
        return None
    if not _ADDRESS.fullmatch(text) or len(text) > MAX_ADDRESS:
        raise UsageError("wrong_email", f"{text!r} is no e-mail address such as ann@example.org.")
    return text


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "any"
    return "default" if value is None else str(value)


def check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise UsageError("wrong_name", f"A name is 1 to {MAX_NAME} printable characters.")
