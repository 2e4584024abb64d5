"""Finds the feed and the person that a command names."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.feeds import feed_list
from fascicle.storage.feeds import subscription as subscriptions
from fascicle.storage.series import library
from starter.notifications.user import check_name, user_named

FeedRef = Annotated[
    str, typer.Argument(metavar="FEED", help="A feed's id, address (or its site's) or title.")
]
FeedOption = Annotated[
    str | None, typer.Option("--feed", help="Only this feed: its id, address or title.", metavar="FEED")
]
Row = dict[str, Any]


async def followed_feed(dependencies: Dependencies, user_id: str, user: str, wanted: str) -> Row:
    """The one feed of that name among those a person follows, paused or not."""
    async with transaction(dependencies.engine) as connection:
        rows = await subscriptions.names(connection, user_id)
    found = _chosen(dependencies, rows, wanted)
    if found is None:
        raise UsageError(
            "unknown_feed", f"{user} follows no feed {wanted!r}. See `fascicle feed list --user {user}`."
        )
    return found


async def feed_named(dependencies: Dependencies, wanted: str) -> Row:
    """The one feed of that name; a removed feed only if no other matches."""
    async with transaction(dependencies.engine) as connection:
        rows = await feed_list.listing(connection)
    for are_removed in (False, True):
        among = [row for row in rows if (row["removed_at"] is not None) is are_removed]
        if found := _chosen(dependencies, among, wanted):
            return found
    raise UsageError("unknown_feed", f"There is no feed {wanted!r}. See `fascicle feed list`.")


def _chosen(dependencies: Dependencies, rows: Sequence[Row], wanted: str) -> Row | None:
    check_is_text(wanted)
    if not wanted.strip():
        raise UsageError("wrong_usage", "Which feed? Give an id, an address or a title.")
    for matches in _ways(dependencies, wanted.strip().removeprefix("source-")):
        found = [row for row in rows if matches(row)]
        if len(found) == 1:
            return found[0]
        if found:
            choices = "\n".join(f"  {row['id']}  {row['title']} ({row['url']})" for row in found)
            raise UsageError("ambiguous_feed", f"{wanted!r} fits several feeds; use an id:\n{choices}")
    return None


def _ways(dependencies: Dependencies, wanted: str) -> list[Callable[[Row], bool]]:
    address, words = _address(dependencies, wanted), wanted.lower()
    return [
        lambda row: wanted == row["id"] or row["url"] in (wanted, address),
        lambda row: row["site_url"] in (wanted, address),
        lambda row: row["title"].lower() == words,
        lambda row: words in row["title"].lower(),
    ]


def _address(dependencies: Dependencies, wanted: str) -> str | None:
    from fascicle.services.feeds.following import feed_address

    try:
        return dependencies.feeds.address_of(feed_address(wanted))
    except UsageError:
        return None


async def user_made(dependencies: Dependencies, name: str) -> str:
    """The id of the person with that name, created if there is none."""
    check_name(name)
    async with transaction(dependencies.engine) as connection:
        found = await library.find_user(connection, name)
        return found or (await library.add_user(connection, name))[0]


async def user_or_only_one(dependencies: Dependencies, name: str | None) -> tuple[str, str] | None:
    """The person's id and name; without a name, the only user. None: there is not exactly one user."""
    if name is not None:
        return await user_named(dependencies, name), name
    async with transaction(dependencies.engine) as connection:
        users = await library.users(connection)
    return (users[0]["id"], users[0]["name"]) if len(users) == 1 else None
