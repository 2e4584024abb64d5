"""`fascicle post …`: scheduled art."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy.ext.asyncio import AsyncConnection

from activities.looking_after import look_after_post
from fascicle.domain.errors import UsageError
from fascicle.domain.post import PostState
from fascicle.domain.times import parse_time
from fascicle.domain.urls import parse_http_url
from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import post as posts
from fascicle.storage.database import transaction
from starter.account import account_named
from starter.context import Reach, check_is_text, database_only, reach, run
from starter.output import plain, print_facts, print_json, print_line, print_table
from starter.posting import NewPost, create_post
from starter.source import AsJson

app = typer.Typer(help="Posts: art that goes out at its time, once.", no_args_is_help=True)

PostRef = Annotated[str, typer.Argument(help="A post's id.")]
TimeText = Annotated[
    str, typer.Argument(help="2026-12-24T18:00+01:00, '2026-12-24 18:00 Europe/Berlin', +90m; or now.")
]
Jitter = Annotated[
    float | None, typer.Option(help="Up to so many seconds later, drawn once.", min=0, max=86400)
]
AccountOption = Annotated[str, typer.Option(help="The account's name or id.")]

_COLUMNS = ("id", "account", "state", "title", "files", "publish_at", "attempts", "waiting_for", "url")
_HIDDEN = ("account_id", "planned_for", "reconciled_at", "deleted_at", "files", "events")


@app.command("create")
def create(
    files: Annotated[list[Path], typer.Argument(help="The images, in their order.", show_default=False)],
    title: Annotated[str, typer.Option(help="At most 50 characters.")],
    account: AccountOption,
    description: Annotated[str | None, typer.Option(help="HTML is allowed.")] = None,
    tags: Annotated[str | None, typer.Option(help="Comma-separated, at most 30.")] = None,
    mature: Annotated[
        str | None, typer.Option(help="strict or moderate; `no`: expressly not mature.")
    ] = None,
    mature_class: Annotated[
        list[str] | None, typer.Option(help="nudity, sexual, gore, language, ideology; repeatable.")
    ] = None,
    gallery: Annotated[list[str] | None, typer.Option(help="A gallery's id; repeatable.")] = None,
    display_resolution: Annotated[int | None, typer.Option(help="0 (original) to 8.")] = None,
    feature: Annotated[bool | None, typer.Option("--feature/--no-feature")] = None,
    comments: Annotated[bool | None, typer.Option("--comments/--no-comments")] = None,
    free_download: Annotated[bool | None, typer.Option("--free-download/--no-free-download")] = None,
    watermark: Annotated[bool | None, typer.Option("--watermark/--no-watermark")] = None,
    ai_generated: Annotated[bool | None, typer.Option("--ai-generated/--not-ai-generated")] = None,
    noai: Annotated[bool | None, typer.Option("--noai/--allow-ai")] = None,
    at: Annotated[str | None, typer.Option(help="Schedule it at once, for this time.")] = None,
    jitter: Jitter = None,
    as_json: AsJson = False,
) -> None:
    """Store files as a draft; with --at, schedule it. What is left out, an automation may fill in."""
    new = NewPost(
        files=files,
        title=title,
        options={
            "description": description,
            "tags": None if tags is None else [tag.strip() for tag in tags.split(",") if tag.strip()],
            "is_mature": None if mature is None else mature != "no",
            "mature_level": None if mature == "no" else mature,
            "mature_classification": mature_class,
            "gallery_ids": gallery,
            "display_resolution": display_resolution,
            "feature": feature,
            "allow_comments": comments,
            "allow_free_download": free_download,
            "add_watermark": watermark,
            "is_ai_generated": ai_generated,
            "noai": noai,
            "jitter_seconds": jitter or 0.0,
        },
    )

    async def command() -> None:
        async with reach() as r:
            account_id = await account_named(r.dependencies, account)
            publish_at = None if at is None else await _future(r.dependencies, account_id, at)
            post_id = await create_post(r.dependencies, account_id, new)
            if publish_at is not None:
                await _changing(r, post_id, lambda c: posts.schedule(c, post_id, publish_at))
            await _tell(r.dependencies, post_id, as_json)

    run(command)


@app.command("schedule")
def schedule(post: PostRef, time: TimeText, jitter: Jitter = None, as_json: AsJson = False) -> None:
    """Publish a draft (or what failed or was cancelled) at a time."""
    _at_time(post, time, as_json, lambda c, at: posts.schedule(c, post, at, jitter_seconds=jitter))


@app.command("reschedule")
def reschedule(post: PostRef, time: TimeText, as_json: AsJson = False) -> None:
    """Another time for what is scheduled."""
    _at_time(post, time, as_json, lambda c, at: posts.reschedule(c, post, at))


@app.command("cancel")
def cancel(post: PostRef, as_json: AsJson = False) -> None:
    """Do not publish it. The files stay; `schedule` takes it up again."""
    _simply(post, as_json, lambda c, now: posts.cancel(c, post))


@app.command("publish-now")
def publish_now(post: PostRef, as_json: AsJson = False) -> None:
    """Do not wait for its time."""
    _simply(post, as_json, lambda c, now: posts.publish_now(c, post, now))


@app.command("retry")
def retry(post: PostRef, as_json: AsJson = False) -> None:
    """Try again what failed, from where it stopped."""
    _simply(post, as_json, lambda c, now: posts.retry(c, post, now))


@app.command("delete")
def delete(post: PostRef, as_json: AsJson = False) -> None:
    """Forget a post here (not on the site). Its files leave the store a week later."""

    async def command() -> None:
        check_is_text(post)
        async with database_only() as dependencies, transaction(dependencies.engine) as connection:
            await posts.delete(connection, post, datetime.now(UTC))
        print_json({"id": post, "deleted": True}) if as_json else print_line(f"Deleted {plain(post)}")

    run(command)


@app.command("resolve")
def resolve(
    post: PostRef,
    published: Annotated[str | None, typer.Option(metavar="URL", help="It is out, here.")] = None,
    again: Annotated[
        bool, typer.Option("--retry", help="It is not out: publish the same upload again.")
    ] = False,
    upload_anew: Annotated[
        bool, typer.Option("--upload-anew", help="It is not out: upload it anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Settle a post of which nobody could find out whether it was published."""
    if (published is not None) + again + upload_anew != 1:
        raise typer.BadParameter("choose one of --published URL, --retry, --upload-anew")

    async def change(connection: AsyncConnection, _: datetime) -> None:
        if published is not None:
            await posts.resolve_published(connection, post, published)
        else:
            await posts.resolve_by_trying(connection, post, upload_anew=upload_anew)

    if published is not None:
        _checked_url(published)
    _simply(post, as_json, change)


@app.command("list")
def list_posts(
    account: Annotated[str | None, typer.Option(help="Only of this account.")] = None,
    state: Annotated[PostState | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Posts, the latest times first."""

    async def command() -> None:
        async with database_only() as dependencies:
            account_id = None if account is None else await account_named(dependencies, account)
            async with transaction(dependencies.engine) as connection:
                rows = await posts.listing(connection, account_id=account_id, state=state, limit=limit)
        if as_json:
            print_json(rows)
        else:
            print_table(
                _COLUMNS, rows, empty="No posts: fascicle post create FILE --title TITLE --account NAME"
            )

    run(command)


@app.command("show")
def show(post: PostRef, as_json: AsJson = False) -> None:
    """All about a post: its files, and what happened to it."""

    async def command() -> None:
        async with database_only() as dependencies:
            found = await _found(dependencies, post)
        if as_json:
            print_json(found)
            return
        print_facts({k: v for k, v in found.items() if k not in _HIDDEN and v is not None})
        print_line("")
        columns = ("position", "file_name", "size", "item_id", "published_at", "url")
        print_table(columns, found["files"], empty="No files.")
        print_line("")
        print_table(("at", "kind", "detail"), found["events"], empty="")

    run(command)


def post_hints(settled_badly: Sequence[Mapping[str, Any]]) -> list[str]:
    """What `status` says of posts that a person must see to."""
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
    return hints


def _at_time(
    post: str, time: str, as_json: bool, change: Callable[[AsyncConnection, datetime], Awaitable[None]]
) -> None:
    async def command() -> None:
        async with reach() as r:
            found = await _found(r.dependencies, post)
            publish_at = await _future(r.dependencies, found["account_id"], time)
            await _changing(r, post, lambda c: change(c, publish_at))
            await _tell(r.dependencies, post, as_json)

    run(command)


def _simply(post: str, as_json: bool, change: Callable[[AsyncConnection, datetime], Awaitable[None]]) -> None:
    async def command() -> None:
        async with reach() as r:
            await _found(r.dependencies, post)
            await _changing(r, post, lambda c: change(c, datetime.now(UTC)))
            await _tell(r.dependencies, post, as_json)

    run(command)


async def _changing(r: Reach, post: str, change: Callable[[AsyncConnection], Awaitable[None]]) -> None:
    """The row first; should this process die before the workflow hears of it, reconciliation tells it."""
    async with transaction(r.dependencies.engine) as connection:
        await change(connection)
    found = await _found(r.dependencies, post)
    await look_after_post(r.client, post, title=found["title"], account_id=found["account_id"])


async def _future(dependencies: Dependencies, account_id: str, text: str) -> datetime:
    check_is_text(text)
    now = datetime.now(UTC)
    async with transaction(dependencies.engine) as connection:
        zone = await posts.zone_of_account(connection, account_id)
    when = parse_time(text, zone=zone, now=now)
    if when < now:
        raise UsageError(
            "time_in_the_past",
            f"{when:%Y-%m-%d %H:%M} UTC is in the past. Give a later time, or: fascicle post publish-now",
        )
    return when


async def _found(dependencies: Dependencies, post: str) -> dict[str, Any]:
    check_is_text(post)
    async with transaction(dependencies.engine) as connection:
        found = await posts.show(connection, post)
    if found is None:
        raise UsageError("unknown_post", f"There is no post {post!r}. See `fascicle post list`.")
    return found


async def _tell(dependencies: Dependencies, post: str, as_json: bool) -> None:
    found = await _found(dependencies, post)
    if as_json:
        print_json(found)
        return
    words = f"Post [bold]{plain(found['id'])}[/] “{plain(found['title'])}” is {found['state']}"
    if found["state"] == PostState.SCHEDULED:
        words += f" for {found['publish_at']:%Y-%m-%d %H:%M:%S} UTC"
    print_line(words)


def _checked_url(url: str) -> str:
    parse_http_url(url)
    return url
