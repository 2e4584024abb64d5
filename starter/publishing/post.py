"""`fascicle post …`: scheduled art."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fascicle.domain.errors import UsageError
from fascicle.domain.given_text import check_is_text
from fascicle.domain.publishing.post import CHECKED, PostState, check_post
from fascicle.domain.urls import parse_http_url
from fascicle.services.publishing.new_post import NewPost, create_post
from fascicle.services.publishing.post_changes import change_post, found_post, future_of
from fascicle.storage.database import transaction
from fascicle.storage.publishing import post as posts
from starter.context import command, database_only, reach, reading
from starter.options import AsJson
from starter.output import plain, print_facts, print_json, print_line, print_table, progress_bar
from starter.publishing import post_options as options
from starter.publishing.account import account_named
from starter.publishing.post_changes import change_at, change_now, tell_of

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

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
_HIDDEN = ("account_id", "account_paused_at", "planned_for", "reconciled_at", "deleted_at", "files", "events")


@app.command("create")
@command
async def create(
    files: Annotated[list[Path], typer.Argument(help="The images, in their order.", show_default=False)],
    title: Annotated[str, typer.Option(help="At most 50 characters.")],
    account: AccountOption,
    description: options.Description = None,
    tags: options.Tags = None,
    mature: options.Mature = None,
    mature_class: options.MatureClass = None,
    gallery: options.Gallery = None,
    display_resolution: options.DisplayResolution = None,
    feature: options.Feature = None,
    comments: options.Comments = None,
    free_download: options.FreeDownload = None,
    watermark: options.Watermark = None,
    ai_generated: options.AiGenerated = None,
    noai: options.NoAi = None,
    at: Annotated[str | None, typer.Option(help="Schedule it at once, for this time.")] = None,
    jitter: Jitter = None,
    as_json: AsJson = False,
) -> None:
    """Store files as a draft; with --at, schedule it. What is left out, an automation may fill in."""
    said = options.options_of(
        description=description,
        tags=tags,
        mature=mature,
        mature_class=mature_class,
        gallery=gallery,
        display_resolution=display_resolution,
        feature=feature,
        comments=comments,
        free_download=free_download,
        watermark=watermark,
        ai_generated=ai_generated,
        noai=noai,
    )
    new = NewPost(files, title, {**said, "jitter_seconds": jitter or 0.0})

    # A draft needs only the database; a scheduled post needs Temporal too.
    async with database_only() as dependencies:
        account_id = await account_named(dependencies, account)
        publish_at = None if at is None else await future_of(dependencies, account_id, at)
        with progress_bar("storing", len(files)) as stored:
            post_id = await create_post(dependencies, account_id, new, stored)
        if publish_at is None:
            await tell_of(dependencies, post_id, as_json)
    if publish_at is not None:
        async with reach() as r:
            await change_post(
                r.dependencies, r.client, post_id, lambda c: posts.schedule(c, post_id, publish_at)
            )
            await tell_of(r.dependencies, post_id, as_json)


@app.command("edit")
@command
async def edit(
    post: PostRef,
    title: Annotated[str | None, typer.Option(help="At most 50 characters.")] = None,
    description: options.Description = None,
    tags: options.Tags = None,
    mature: options.Mature = None,
    mature_class: options.MatureClass = None,
    gallery: options.Gallery = None,
    display_resolution: options.DisplayResolution = None,
    feature: options.Feature = None,
    comments: options.Comments = None,
    free_download: options.FreeDownload = None,
    watermark: options.Watermark = None,
    ai_generated: options.AiGenerated = None,
    noai: options.NoAi = None,
    as_json: AsJson = False,
) -> None:
    """Change what is said of a post that is not on its way yet."""
    said = {"title": title} | options.options_of(
        description=description,
        tags=tags,
        mature=mature,
        mature_class=mature_class,
        gallery=gallery,
        display_resolution=display_resolution,
        feature=feature,
        comments=comments,
        free_download=free_download,
        watermark=watermark,
        ai_generated=ai_generated,
        noai=noai,
    )
    given = {name: value for name, value in said.items() if value is not None}

    if not given:
        raise UsageError("wrong_usage", "Nothing to change. See `fascicle post edit --help`.")
    async with database_only() as dependencies:
        found = await found_post(dependencies, post)
        check_post(**{name: given.get(name, found[name]) for name in CHECKED})
        async with transaction(dependencies.engine) as connection:
            await posts.edit(connection, post, given)
        await tell_of(dependencies, post, as_json)


@app.command("schedule")
def schedule(post: PostRef, time: TimeText, jitter: Jitter = None, as_json: AsJson = False) -> None:
    """Publish a draft (or what failed or was cancelled) at a time."""
    change_at(post, time, as_json, lambda c, at: posts.schedule(c, post, at, jitter_seconds=jitter))


@app.command("reschedule")
def reschedule(post: PostRef, time: TimeText, as_json: AsJson = False) -> None:
    """Another time for what is scheduled."""
    change_at(post, time, as_json, lambda c, at: posts.reschedule(c, post, at))


@app.command("cancel")
def cancel(post: PostRef, as_json: AsJson = False) -> None:
    """Do not publish it. The files stay; `schedule` takes it up again."""
    change_now(post, as_json, lambda c, now: posts.cancel(c, post))


@app.command("publish-now")
def publish_now(post: PostRef, as_json: AsJson = False) -> None:
    """Do not wait for its time."""
    change_now(post, as_json, lambda c, now: posts.publish_now(c, post, now))


@app.command("retry")
def retry(post: PostRef, as_json: AsJson = False) -> None:
    """Try again what failed, from where it stopped."""
    change_now(post, as_json, lambda c, now: posts.retry(c, post, now))


@app.command("delete")
@command
async def delete(post: PostRef, as_json: AsJson = False) -> None:
    """Forget a post here (not on the site). Its files leave the store a week later."""

    check_is_text(post)
    async with database_only() as dependencies, transaction(dependencies.engine) as connection:
        await posts.delete(connection, post, datetime.now(UTC))
    print_json({"id": post, "deleted": True}) if as_json else print_line(f"Deleted {plain(post)}")


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

    async def change(connection: "AsyncConnection", _: datetime) -> None:
        if published is not None:
            await posts.resolve_published(connection, post, published)
        else:
            await posts.resolve_by_trying(connection, post, upload_anew=upload_anew)

    if published is not None:
        parse_http_url(published)
    change_now(post, as_json, change)


@app.command("list")
@command
async def list_posts(
    account: Annotated[str | None, typer.Option(help="Only of this account.")] = None,
    state: Annotated[PostState | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> None:
    """Posts, the latest times first."""

    async with reading() as dependencies:
        account_id = None if account is None else await account_named(dependencies, account)
        async with transaction(dependencies.engine) as connection:
            rows = await posts.listing(connection, account_id=account_id, state=state, limit=limit)
    if as_json:
        print_json(rows)
    else:
        print_table(_COLUMNS, rows, empty="No posts: fascicle post create FILE --title TITLE --account NAME")


@app.command("show")
@command
async def show(post: PostRef, as_json: AsJson = False) -> None:
    """All about a post: its files, and what happened to it."""

    async with reading() as dependencies:
        found = await found_post(dependencies, post)
    if as_json:
        print_json(found)
        return
    print_facts({k: v for k, v in found.items() if k not in _HIDDEN and v is not None})
    print_line("")
    columns = ("position", "file_name", "size", "item_id", "published_at", "url")
    print_table(columns, found["files"], empty="No files.")
    print_line("")
    print_table(("at", "kind", "detail"), found["events"], empty="")
