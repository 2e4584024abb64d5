"""`fascicle fic …`: the queue of fics and its subscribers (F8)."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.fics.fic import FicView, JobState
from fascicle.domain.fics.fic_words import describe, duration
from fascicle.domain.given_text import check_is_text
from fascicle.services.fics.next_step import fic_policy
from fascicle.services.notifications.channels import check_is_allowed
from fascicle.storage.database import transaction
from fascicle.storage.fics import fic_view
from fascicle.storage.series import library
from starter.context import Reach, check_keys, command, reach, reading
from starter.fics.saved_page import page_in
from starter.notifications.user import user_named
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_note, print_table

if TYPE_CHECKING:
    from fascicle.services.fics.fic_queue import FicDesk

FicUrl = Annotated[str, typer.Argument(metavar="URL", help="The fic's address, in any of its forms.")]
UserOption = Annotated[str, typer.Option("--user", help="Who asks; made if there is no such user.")]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait", help="Seconds to wait for the result (FASCICLE_FIC_INSTANT_SECONDS).", min=0, max=86400
    ),
]
_COLUMNS = ("position", "state", "site", "title", "url", "eta", "waiting_for", "error_code", "subscribers")


@command
async def add(
    url: FicUrl,
    user: UserOption,
    note: Annotated[str | None, typer.Option(help="Why they recommend it.")] = None,
    tags: Annotated[
        list[str] | None, typer.Option(help="Tags of theirs, comma-separated; repeatable.")
    ] = None,
    wait: Wait = None,
    page: Annotated[
        Path | None, typer.Option(help="The page, saved in a browser, of a site that lets nobody else in.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a fic. Whoever asks for one that is being read waits with the others."""

    saved = None if page is None else page_in(page)
    if saved is not None and not saved.strip():
        raise UsageError("wrong_usage", f"{page} is empty. Save the page in your browser once more.")
    async with reach() as r:
        view = await _open_desk(r).add(
            url, user, note=note, tags=",".join(tags or []).split(","), page=saved, wait_seconds=wait
        )
        _tell_of(view, as_json)
        async with transaction(r.dependencies.engine) as connection:
            reachable = view.finished or await library.has_channel(connection, user)
    if not reachable:
        print_note(f"{user} has no channel to be told through: fascicle user add {user} --notify URL")


@command
async def update(
    url: FicUrl,
    user: Annotated[
        str | None, typer.Option("--user", help="Who asks; else all who waited for it last time.")
    ] = None,
    wait: Wait = None,
    as_json: AsJson = False,
) -> None:
    """Read a fic again that was read before."""

    async with _desk() as desk:
        if user is None:
            view = await desk.refresh(url, wait_seconds=wait)
        else:
            view = await desk.update(url, user, wait_seconds=wait)
        _tell_of(view, as_json)


@command
async def list_jobs(
    state: Annotated[list[JobState] | None, typer.Option(help="Only in this state; repeatable.")] = None,
    site: Annotated[str | None, typer.Option(help="Only of this site.")] = None,
    user: Annotated[str | None, typer.Option(help="Only what this user asked for.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """The queue: those that wait, in their order, then those that are done."""

    async with reading() as dependencies:
        user_id = None if user is None else await user_named(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            views = await fic_view.listing(
                connection,
                fic_policy(dependencies.settings).distances,
                states=state,
                site=site,
                user_id=user_id,
                limit=limit,
            )
    if as_json:
        print_json([_plain(view) for view in views])
    else:
        rows = [_plain(view) | {"eta": _eta(view)} for view in views]
        print_table(_COLUMNS, rows, empty="No fics: fascicle fic add URL --user NAME")


@command
async def show(url: FicUrl, as_json: AsJson = False) -> None:
    """All about one: what was read, where it stands, who waits for it."""

    async with reach() as r:
        view = await _open_desk(r).show(url)
        async with transaction(r.dependencies.engine) as connection:
            people = await fic_view.subscribers(connection, view.key)
    if as_json:
        print_json(_plain(view) | {"people": people})
        return
    _tell_of(view, as_json=False)
    facts = (
        {} if view.fic is None else view.fic.model_dump(exclude={"author_urls", "url"}, exclude_defaults=True)
    )
    print_facts({"workflow": view.workflow_id, "round": view.round} | facts)
    print_line("")
    print_table(("user", "note", "tags", "told", "subscribed_at"), people, empty="Nobody waits for it.")


@command
async def clear(url: FicUrl, as_json: AsJson = False) -> None:
    """Take a fic out of the queue, also while it is read; nobody is told. What was read stays."""

    async with _desk() as desk:
        cleared = await desk.clear(url)
    if not cleared:
        raise UsageError("not_in_queue", f"{url} is not in the queue: see `fascicle fic list`.")
    print_json({"url": url, "cleared": True}) if as_json else print_line(f"Cleared {plain(url)}")


@command
async def reset(
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Only this one; also if it failed.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take up again what is stuck: jobs that no workflow works on. Those that run are left alone."""

    async with _desk() as desk:
        count = await desk.reset(url)
    print_json({"reset": count}) if as_json else print_line(f"Took up {count} stuck job(s)")


@command
async def override(
    url: FicUrl,
    moderator: Annotated[str, typer.Option("--moderator", "--by", "--user", help="Who decides it.")],
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    as_json: AsJson = False,
) -> None:
    """A fic belongs here although the rules say no (nOTP). Remembered; nothing is read again."""

    async with _desk() as desk:
        _tell_of(await desk.override(url, moderator, reason), as_json)


@command
async def channel(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="An Apprise URL.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Tell the community nothing any more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Where the community is told what became of each fic; without a URL, show it."""
    from fascicle.services.notifications.channel_check import check_channel
    from fascicle.services.notifications.channels import kind_of, masked
    from fascicle.services.notifications.discord_channel import is_discord_channel

    async with reach() as r:
        desk = _open_desk(r)
        if url is not None and off:
            raise UsageError("wrong_usage", "Name a channel, or --off: one of both.")
        if url is not None:
            check_is_text(url)
            check_is_allowed(check_channel(url), r.dependencies.settings.channel_schemas)
            check_keys(r.dependencies.settings)
        if url is not None or off:
            await desk.set_channel(None if off else url)
        there = await desk.channel()
    shown = None if there is None else there if is_discord_channel(there) else masked(kind_of(there))
    if as_json:
        print_json({"channel": shown})
    else:
        print_line(plain(shown) if shown else "No channel: fascicle fic channel APPRISE-URL")


def _open_desk(r: Reach) -> "FicDesk":
    from fascicle.services.fics.fic_queue import (
        open_desk,  # imports Temporal's SDK, which a list does not need
    )

    return open_desk(r.dependencies, r.client)


@asynccontextmanager
async def _desk() -> "AsyncIterator[FicDesk]":
    async with reach() as r:
        yield _open_desk(r)


def _tell_of(view: FicView, as_json: bool) -> None:
    print_json(_plain(view)) if as_json else print_line(plain(describe(view)))


def _plain(view: FicView) -> dict[str, Any]:
    return view.model_dump(mode="json") | {"finished": view.finished}


def _eta(view: FicView) -> str | None:
    return None if view.eta_seconds is None else duration(view.eta_seconds)


def add_to(app: typer.Typer) -> None:
    """Add the commands of the queue to those that only read addresses and pages."""
    commands: dict[str, Callable[..., None]] = {
        "add": add,
        "update": update,
        "list": list_jobs,
        "show": show,
        "clear": clear,
        "reset": reset,
        "override": override,
        "channel": channel,
    }
    for name, function in commands.items():
        app.command(name)(function)
