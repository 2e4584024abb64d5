"""Changes a post for a person, and prints its new state."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.publishing.post import PostState
from fascicle.domain.times import future_time
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from starter.context import Reach, command, reach
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
        await changing(r, post, lambda c: change(c, publish_at))
        await tell_of(r.dependencies, post, as_json)


@command
async def change_now(
    post: str, as_json: bool, change: "Callable[[AsyncConnection, datetime], Awaitable[None]]"
) -> None:
    async with reach() as r:
        await found_post(r.dependencies, post)
        await changing(r, post, lambda c: change(c, datetime.now(UTC)))
        await tell_of(r.dependencies, post, as_json)


async def changing(r: Reach, post: str, change: "Callable[[AsyncConnection], Awaitable[None]]") -> None:
    """Change the row first; if this process dies before it signals the workflow, `reconcile` does so."""
    from fascicle.jobs.publishing import post_job
    from fascicle.temporal.workflow_start import start_job

    async with transaction(r.dependencies.engine) as connection:
        await change(connection)
    found = await found_post(r.dependencies, post)
    await start_job(r.client, post_job(post, title=found["title"], account_id=found["account_id"]))


async def future_of(dependencies: Dependencies, account_id: str, text: str) -> datetime:
    check_is_text(text)
    now = datetime.now(UTC)
    async with transaction(dependencies.engine) as connection:
        zone = await posts.zone_of_account(connection, account_id)
    return future_time(text, zone=zone, now=now)


async def found_post(dependencies: Dependencies, post: str) -> dict[str, Any]:
    check_is_text(post)
    async with transaction(dependencies.engine) as connection:
        found = await posts.show(connection, post)
    if found is None:
        raise UsageError("unknown_post", f"There is no post {post!r}. See `fascicle post list`.")
    return found


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
