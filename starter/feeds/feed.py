"""`fascicle feed …`: subscriptions to feeds (I7)."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import NOBODY_READS, SubscriptionState
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.feeds import subscription as subscriptions
from starter.context import command, reach, reading
from starter.feeds.named_feed import FeedRef, followed_feed, user_made
from starter.lazy import LazyCommand, lazy_group
from starter.notifications.user import check_name, user_named
from starter.options import AsJson
from starter.output import plain, print_json, print_line, print_note, print_table

# The code that reads feeds is slow to load, so the other commands do not import it.
LAZY = (
    LazyCommand(
        "import",
        "starter.feeds.feed_import:import_command",
        "Follow every feed of a list. Run it again to go on after an interruption; history is silent.",
    ),
    LazyCommand(
        "preview",
        "starter.feeds.feed_preview:preview",
        "What a feed yields, or why it is none. Nothing is stored.",
    ),
)

app = typer.Typer(
    cls=lazy_group(LAZY),
    help="Feeds: blogs, podcasts and channels into people's inboxes.",
    no_args_is_help=True,
)

UserOption = Annotated[str, typer.Option("--user", help="Whose subscription.")]
_COLUMNS = (
    "id",
    "title",
    "kind",
    "state",
    "folder",
    "items",
    "inbox",
    "last_new_at",
    "next_check_at",
    "error",
)


@app.command("subscribe")
@command
async def subscribe(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="A feed, or a page that has one; a channel on YouTube.")
    ],
    user: Annotated[str, typer.Option("--user", help="Who follows it; made if there is no such user.")],
    backfill: Annotated[
        int, typer.Option(help="So many of the newest entries at once.", min=0, max=5000)
    ] = 0,
    title: Annotated[str | None, typer.Option(help="Their own name for it.")] = None,
    folder: Annotated[str | None, typer.Option(help="Their folder for it: outer/inner.")] = None,
    as_json: AsJson = False,
) -> None:
    """Follow a feed. What it lists already is history, unless asked for with --backfill."""
    from fascicle.services.feeds import following as subscribing

    check_name(user)
    own_title, own_folder = _line(title), _folder(folder)
    async with reach() as r:
        found = await subscribing.find_feed(r.dependencies, url, print_note, backfill=backfill)
        user_id = await user_made(r.dependencies, user)  # only now: not for an address without a feed
        done = await subscribing.subscribe(
            r.dependencies,
            r.client,
            url,
            user_id,
            backfill=backfill,
            title=own_title,
            folder=own_folder,
            feed=found,
        )
        row = await _subscription(r.dependencies, user_id, done.source_id)
    _say_if_paused(row)
    if as_json:
        told = {"created": done.created, "subscribed": done.subscribed, "backfilled": done.backfilled}
        print_json({"source_id": done.source_id, **told, **row})
        return
    word = "follows" if done.subscribed else "followed already:"
    given = f"; {done.backfilled} of {row['items']} entries are in the inbox" if backfill else ""
    print_line(f"{plain(user)} {word} [bold]{plain(row['title'])}[/] ({plain(row['kind'])}){given}")


@app.command("unsubscribe")
def unsubscribe(feed: FeedRef, user: UserOption, as_json: AsJson = False) -> None:
    """Follow a feed no longer. What is in the inbox stays there."""
    _change(feed, user, SubscriptionState.UNSUBSCRIBED, "no longer follows", as_json)


@app.command("pause")
def pause(feed: FeedRef, user: UserOption, as_json: AsJson = False) -> None:
    """Nothing new of a feed into the inbox until resumed."""
    _change(feed, user, SubscriptionState.PAUSED, "pauses", as_json)


@app.command("resume")
def resume(feed: FeedRef, user: UserOption, as_json: AsJson = False) -> None:
    """What a paused feed brings from now on; what came meanwhile is history."""
    _change(feed, user, SubscriptionState.ACTIVE, "follows again", as_json)


@command
async def _change(feed: str, user: str, state: SubscriptionState, word: str, as_json: bool) -> None:
    from fascicle.services.feeds import following as subscribing

    async with reach() as r:
        user_id = await user_named(r.dependencies, user)
        row = await followed_feed(r.dependencies, user_id, user, feed)
        if state is SubscriptionState.ACTIVE:
            await subscribing.come_back(r.dependencies, r.client, user_id, row["id"])
        else:
            await subscribing.leave(r.dependencies, r.client, user_id, row["id"], state)
    if as_json:
        print_json({"source_id": row["id"], "title": row["title"], "user": user, "state": state})
    else:
        print_line(f"{plain(user)} {word} {plain(row['title'])}")


@app.command("list")
@command
async def list_feeds(
    user: Annotated[str | None, typer.Option("--user", help="Only this person's.")] = None,
    as_json: AsJson = False,
) -> None:
    """Who follows what, and how it goes."""

    async with reading() as dependencies:
        user_id = await _optional_user(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            rows = await subscriptions.listing(connection, user_id)
    if as_json:
        print_json(rows)
        return
    columns = _COLUMNS if user else ("user", *_COLUMNS)
    print_table(columns, map(_shown, rows), empty="No feeds yet: fascicle feed subscribe URL --user NAME")


@app.command("export")
@command
async def export(
    user: Annotated[str | None, typer.Option("--user", help="Only this person's.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; else stdout.")] = None,
) -> None:
    """The feeds as OPML 2.0, with their folders, for any other reader."""
    from fascicle.imports.feeds_opml import feeds_opml

    async with reading() as dependencies:
        user_id = await _optional_user(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            rows = await subscriptions.names(connection, user_id)
    document = feeds_opml(rows)
    if output is None:
        sys.stdout.write(document.decode())
        return
    try:
        output.write_bytes(document)
    except OSError as error:
        raise UsageError("wrong_usage", f"{output} cannot be written: {error.strerror}.") from error
    print_line(f"{len({row['url'] for row in rows})} feeds are in {plain(output)}")


def feeds_in_words(feeds: dict[str, int]) -> str:
    failing = f", {feeds['failing']} failing" if feeds["failing"] else ""
    return (
        f"{feeds['feeds']} with {feeds['subscriptions']} subscriptions, {feeds['inbox']} in inboxes{failing}"
    )


def feed_hints(feeds: dict[str, int]) -> list[str]:
    return [f"{feeds['failing']} feeds fail: fascicle run list --failed"] if feeds["failing"] else []


def _say_if_paused(row: dict[str, Any]) -> None:
    """Say so if the feed is paused, except for lack of readers: that pause ends with this subscription."""
    if row["paused_at"] and row["paused_reason"] != NOBODY_READS:
        print_note(
            f"It is paused for everybody: {row['paused_reason'] or 'somebody wanted it so'}. "
            f"Go on: fascicle source resume {row['id']}"
        )


async def _optional_user(dependencies: Dependencies, user: str | None) -> str | None:
    return None if user is None else await user_named(dependencies, user)


async def _subscription(dependencies: Dependencies, user_id: str, source_id: str) -> dict[str, Any]:
    async with transaction(dependencies.engine) as connection:
        rows = await subscriptions.listing(connection, user_id, source_id)
    if not rows:
        raise UsageError("unknown_feed", "The subscription was ended again at the same moment.")
    return rows[0]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    error = "gone" if row["gone_at"] else row["last_error_code"] if row["failure_count"] else None
    next_check = "paused" if row["paused_at"] else row["next_check_at"]
    return {**row, "error": error, "next_check_at": next_check}


def _line(text: str | None) -> str | None:
    from fascicle.imports.wanted import title_text

    if text is not None:
        check_is_text(text)
    return title_text(text)


def _folder(text: str | None) -> str | None:
    names = (_line(part) for part in (text or "").split("/"))
    return "/".join(name for name in names if name) or None
