"""`fascicle inbox` and `fascicle item …`: the items of a person, and changing their state (I7)."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.feed import ItemState
from fascicle.domain.summaries.request import Asked
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.feeds import inbox as inboxes
from starter.context import command, database_only, reach, reading
from starter.feeds.named_feed import FeedOption, feed_named, user_or_only_one
from starter.notifications.user import UserRef, user_named
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_table
from starter.summaries.request import WaitFlag, submit

app = typer.Typer(help="Items: what feeds bring.", no_args_is_help=True)

ItemId = Annotated[int, typer.Argument(help="The item's number.", min=1, max=2**63 - 1)]
ItemIds = Annotated[list[int], typer.Argument(help="Items' numbers.", min=1, max=2**63 - 1)]
UserOption = Annotated[str | None, typer.Option("--user", help="Who; where there is only one user, they.")]
_COLUMNS = ("item_id", "title", "feed", "published_at", "author", "length")
_SEEN_COLUMNS = ("feed", "key", "first_seen_at", "last_seen_at")
_LONGEST_TEXT = 3000


@command
async def inbox(
    user: UserRef,
    state: Annotated[str, typer.Option(help="INBOX, BOOKMARKED, ARCHIVED or all.")] = ItemState.INBOX.value,
    feed: FeedOption = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """What reached USER, newest first."""

    wanted = _state(state)
    async with reading() as dependencies:
        user_id = await user_named(dependencies, user)
        source_id = (await feed_named(dependencies, feed))["id"] if feed is not None else None
        async with transaction(dependencies.engine) as connection:
            rows = await inboxes.listing(connection, user_id, state=wanted, limit=limit, source_id=source_id)
    if as_json:
        print_json(rows)
        return
    columns = _COLUMNS if wanted else ("state", *_COLUMNS)
    shown = [{**row, "length": _length(row)} for row in rows]
    print_table(columns, shown, empty=f"Nothing there. What {user} follows: fascicle feed list --user {user}")


@app.command("show")
@command
async def show(item: ItemId, user: UserOption = None, as_json: AsJson = False) -> None:
    """All about one item, and where it was seen."""

    async with reading() as dependencies:
        person = await user_or_only_one(dependencies, user)
        async with transaction(dependencies.engine) as connection:
            row = await inboxes.item(connection, item, person[0] if person else None)
    if row is None:
        raise _unknown([item])
    print_json(row) if as_json else _show(row)


@app.command("bookmark")
def bookmark(items: ItemIds, user: UserOption = None, as_json: AsJson = False) -> None:
    """Keep items."""
    _set_state(items, user, ItemState.BOOKMARKED, as_json)


@app.command("archive")
def archive(items: ItemIds, user: UserOption = None, as_json: AsJson = False) -> None:
    """Done with items."""
    _set_state(items, user, ItemState.ARCHIVED, as_json)


@app.command("unread")
def unread(items: ItemIds, user: UserOption = None, as_json: AsJson = False) -> None:
    """Items back into the inbox."""
    _set_state(items, user, ItemState.INBOX, as_json)


@app.command("summarize")
@command
async def summarize_item(
    item: ItemId,
    user: UserOption = None,
    wait: WaitFlag = False,
    refresh: Annotated[bool, typer.Option("--refresh", help="Also if it was summarised before.")] = False,
    as_json: AsJson = False,
) -> None:
    """Have the page behind an item summarised; the summary becomes the item's lead."""

    async with reach() as r:
        person = await user_or_only_one(r.dependencies, user)
        async with transaction(r.dependencies.engine) as connection:
            row = await inboxes.item(connection, item, person[0] if person else None)
        if row is None:
            raise _unknown([item])
        if not row["url"]:
            raise UsageError("no_address", f"Item {item} leads nowhere: there is no page to summarise.")
        asked = Asked(
            url=row["url"],
            user=person[1] if person else None,
            refresh=refresh,
            item_id=item,
            wait_seconds=600 if wait else 0,
        )
        await submit(r, asked, as_json=as_json)


@command
async def _set_state(items: Sequence[int], user: str | None, state: ItemState, as_json: bool) -> None:
    wanted = list(dict.fromkeys(items))

    async with database_only() as dependencies:
        name = await _changed(dependencies, wanted, user, state)
    if as_json:
        print_json({"user": name, "state": state, "items": wanted})
    else:
        listed = ", ".join(map(str, wanted))
        print_line(f"{plain(name)}: {'items' if len(wanted) > 1 else 'item'} {listed} {state}")


async def _changed(
    dependencies: Dependencies, items: Sequence[int], user: str | None, state: ItemState
) -> str:
    """Change all items, or none with an error. Returns the person's name."""
    person = await user_or_only_one(dependencies, user)
    if person is None:
        raise UsageError("wrong_usage", "Whose? Say --user NAME.")
    user_id, name = person
    async with transaction(dependencies.engine) as connection:
        theirs = await inboxes.set_state(connection, user_id, items, state)
        missing = [item for item in items if item not in theirs]
        if missing:
            known = await inboxes.known(connection, missing)
            raise (
                _not_theirs(name, missing)
                if known.issuperset(missing)
                else _unknown([item for item in missing if item not in known])
            )
    return name


def _unknown(items: Sequence[int]) -> UsageError:
    listed = ", ".join(map(str, items))
    return UsageError("unknown_item", f"There is no item {listed}. See `fascicle inbox USER --state all`.")


def _not_theirs(name: str, items: Sequence[int]) -> UsageError:
    listed = ", ".join(map(str, items))
    return UsageError(
        "not_in_inbox",
        f"Item {listed} never reached {name}'s inbox, so nothing was changed. "
        f"What did: fascicle inbox {name} --state all",
    )


def _state(text: str) -> ItemState | None:
    """None: any state."""
    name = text.upper()
    if name == "ALL":
        return None
    if name not in ItemState.__members__:
        raise UsageError("wrong_usage", f"{text!r} is no state: use {', '.join(ItemState)} or all.")
    return ItemState(name)


def _length(row: dict[str, Any]) -> str | None:
    """The time to hear, watch or read it."""
    if row["duration_seconds"]:
        minutes, seconds = divmod(row["duration_seconds"], 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{row['reading_minutes']} min" if row["reading_minutes"] else None


def _show(row: dict[str, Any]) -> None:
    from fascicle.domain.plain_text import plain_line

    seen = row.pop("seen")
    for name in ("summary", "content"):
        row[name] = plain_line(row[name], longest=_LONGEST_TEXT) if row[name] else None
    print_facts({name: value for name, value in row.items() if value not in (None, "", [], {})})
    print_line("")
    print_table(_SEEN_COLUMNS, seen, empty="It was in no feed that is still known.")
