"""Changes a post for a person, and prints its new state."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.publishing.post import PostState
from fascicle.services.dependencies import Dependencies
from fascicle.services.publishing.post_changes import change_post, found_post, future_of
from starter.context import command, reach
from starter.output import plain, print_json, print_line, print_note

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


def post_hints(settled_badly: Sequence[Mapping[str, Any]], waiting: Sequence[Mapping[str, Any]]) -> list[str]:
    """The hints of `status` about posts that need a person, and about waiting posts."""
    hints = [
        f"nobody knows whether “{row['title']}” of {row['account']} was published "
        f"({row['last_error_code']}): fascicle post resolve {row['id']}"
        for row in settled_badly
        if row["state"] == PostState.UNCONFIRMED
    ]
    failed = [row for row in settled_badly if row["state"] == PostState.FAILED]
    if failed:
        how_many = "1 post" if len(failed) == 1 else f"{len(failed)} posts"
        hints.append(
            f"{how_many} failed, the last by {failed[0]['last_error_code']}: "
            "fascicle post list --state failed"
        )
    return hints + [f"on their way, {row['posts']} wait: {row['waiting_for']}" for row in waiting]


@command
async def change_at(
    post: str, time: str, as_json: bool, change: "Callable[[AsyncConnection, datetime], Awaitable[None]]"
) -> None:
    async with reach() as r:
        found = await found_post(r.dependencies, post)
        publish_at = await future_of(r.dependencies, found["account_id"], time)
        await change_post(r.dependencies, r.client, post, lambda c: change(c, publish_at))
        await tell_of(r.dependencies, post, as_json)


@command
async def change_now(
    post: str, as_json: bool, change: "Callable[[AsyncConnection, datetime], Awaitable[None]]"
) -> None:
    async with reach() as r:
        await found_post(r.dependencies, post)
        await change_post(r.dependencies, r.client, post, lambda c: change(c, datetime.now(UTC)))
        await tell_of(r.dependencies, post, as_json)


async def tell_of(dependencies: Dependencies, post: str, as_json: bool) -> None:
    found = await found_post(dependencies, post)
    if as_json:
        print_json(found)
        return
    if found["account_paused_at"] is not None and found["state"] == PostState.SCHEDULED:
        print_note(f"The account {found['account']} must be connected again first: fascicle account connect")
    words = f"Post [bold]{plain(found['id'])}[/] “{plain(found['title'])}” is {found['state']}"
    if found["state"] == PostState.SCHEDULED:
        words += f" for {found['publish_at']:%Y-%m-%d %H:%M:%S} UTC"
    print_line(words)
