"""Posts as people see and change them (P1, P2). The row's state decides: a change that comes too late changes
nothing and raises an error."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import UsageError
from fascicle.domain.publishing.post import PostState
from fascicle.storage.publishing.publication import file_is_out, note, settle_if_complete
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

OPTIONS = (
    "description",
    "tags",
    "is_mature",
    "mature_level",
    "mature_classification",
    "gallery_ids",
    "display_resolution",
    "feature",
    "allow_comments",
    "allow_free_download",
    "add_watermark",
    "is_ai_generated",
    "noai",
)
"""Columns that may be left unset."""


async def create(
    connection: AsyncConnection, post_id: str, account_id: str, title: str, options: dict[str, Any]
) -> None:
    given = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    columns = "".join(f", {name}" for name in given)
    values = "".join(f", :{name}" for name in given)
    await connection.execute(
        text(f"""
        insert into post (id, account_id, title, jitter_seconds{columns})
        values (:id, :account_id, :title, :jitter{values})
        """),
        {"id": post_id, "account_id": account_id, "title": title, "jitter": options.get("jitter_seconds", 0)}
        | given,
    )
    await note(connection, post_id, "created")


async def add_files(connection: AsyncConnection, post_id: str, files: Sequence[dict[str, Any]]) -> None:
    """Call this before the files are stored: every stored object then has a row by which it is cleaned up."""
    await connection.execute(
        text("""
        insert into post_file (post_id, position, object_key, file_name, content_type, size, stored_at)
        values (:post_id, :position, :object_key, :file_name, :content_type, :size, null)
        """),
        [{"post_id": post_id, **file} for file in files],
    )


async def file_is_stored(connection: AsyncConnection, post_id: str, position: int) -> None:
    await connection.execute(
        text("update post_file set stored_at = now() where post_id = :id and position = :position"),
        {"id": post_id, "position": position},
    )


_BRIEF = """
select p.id, a.name as account, p.state, p.title, p.publish_at, p.due_at, p.attempts, p.waiting_for,
  p.last_error_code, p.last_error, p.published_at, p.created_at, p.automation_id,
  (select count(*) from post_file f where f.post_id = p.id and f.deleted_at is null) as files,
  (select f.url from post_file f where f.post_id = p.id and f.url is not null
   order by f.position limit 1) as url
from post p join account a on a.id = p.account_id
"""


async def listing(
    connection: AsyncConnection, *, account_id: str | None, state: str | None, limit: int
) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text(f"""
        {_BRIEF} where p.deleted_at is null
          and (cast(:account as text) is null or p.account_id = :account)
          and (cast(:state as text) is null or p.state = :state)
        order by coalesce(p.publish_at, p.created_at) desc, p.id limit :limit
        """),
        {"account": account_id, "state": state, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def show(connection: AsyncConnection, post_id: str) -> dict[str, Any] | None:
    values = {"id": post_id}
    found = await connection.execute(
        text("""
        select p.*, a.name as account, a.paused_at as account_paused_at
        from post p join account a on a.id = p.account_id
        where p.id = :id and p.deleted_at is null
        """),
        values,
    )
    row = found.mappings().first()
    if row is None:
        return None
    files = await connection.execute(
        text("""
        select position, file_name, content_type, size, stored_at is not null as stored, item_id, submits,
          intent_at, intents, unclear, published_at, deviation_id, url, object_key
        from post_file where post_id = :id and deleted_at is null order by position, id
        """),
        values,
    )
    events = await connection.execute(
        text("select at, kind, detail from post_event where post_id = :id order by id desc limit 200"), values
    )
    return {
        **dict(row),
        "files": [dict(file) for file in files.mappings()],
        "events": [dict(event) for event in events.mappings()][::-1],
    }


async def zone_of_account(connection: AsyncConnection, account_id: str) -> str | None:
    """The owner's time zone, if they chose one."""
    zone: str | None = await connection.scalar(
        text("""
        select u.time_zone from account a join app_user u on u.id = a.user_id
        where a.id = :id and u.time_zone_chosen
        """),
        {"id": account_id},
    )
    return zone


async def schedule(
    connection: AsyncConnection, post_id: str, publish_at: datetime, *, jitter_seconds: float | None = None
) -> None:
    """Schedule a post, or change its time; this also works for failed and cancelled posts."""
    await _change(
        connection,
        post_id,
        f"publish_at = :at, due_at = null, planned_for = null, {_AFRESH}"
        "jitter_seconds = coalesce(:jitter, jitter_seconds)",
        {"at": publish_at, "jitter": jitter_seconds},
        allowed=("draft", "scheduled", "failed", "cancelled"),
        becomes=PostState.SCHEDULED,
        event="scheduled",
    )


async def edit(connection: AsyncConnection, post_id: str, given: dict[str, Any]) -> None:
    """`given` are columns: the title or OPTIONS."""
    assert given.keys() <= {"title", *OPTIONS}
    await _change(
        connection,
        post_id,
        ", ".join(f"{name} = :{name}" for name in given),
        given,
        allowed=("draft", "scheduled", "failed", "cancelled"),
        becomes=None,
        event="edited",
    )


async def reschedule(connection: AsyncConnection, post_id: str, publish_at: datetime) -> None:
    await _change(
        connection,
        post_id,
        "publish_at = :at, due_at = null, planned_for = null",
        {"at": publish_at},
        allowed=("scheduled",),
        becomes=PostState.SCHEDULED,
        event="rescheduled",
    )


async def publish_now(connection: AsyncConnection, post_id: str, now: datetime) -> None:
    """Make the post due at `now`, without jitter."""
    await _change(
        connection,
        post_id,
        f"publish_at = :now, due_at = :now, planned_for = :now, {_AFRESH} waiting_for = null",
        {"now": now},
        allowed=("draft", "scheduled", "failed", "cancelled"),
        becomes=PostState.SCHEDULED,
        event="publish_now",
    )


async def cancel(connection: AsyncConnection, post_id: str) -> None:
    await _change(
        connection,
        post_id,
        "waiting_for = null",
        {},
        allowed=("draft", "scheduled", "uploading", "failed"),
        becomes=PostState.CANCELLED,
        event="cancelled",
    )


async def retry(connection: AsyncConnection, post_id: str, now: datetime) -> None:
    """Continue a failed post where it stopped, at its own time if that is in the future."""
    await _change(
        connection,
        post_id,
        f"publish_at = coalesce(publish_at, :now), due_at = null, planned_for = null, {_AFRESH} "
        "waiting_for = null",
        {"now": now},
        allowed=("failed",),
        becomes=PostState.SCHEDULED,
        event="retried",
    )


async def delete(connection: AsyncConnection, post_id: str, now: datetime) -> None:
    """Hide the post at once; its files are removed from the store days later (P8)."""
    await _change(
        connection,
        post_id,
        "deleted_at = :now",
        {"now": now},
        allowed=("draft", "published", "failed", "cancelled"),
        becomes=None,
        event="deleted",
    )
    await connection.execute(
        text("update post_file set deleted_at = :now where post_id = :id and deleted_at is null"),
        {"id": post_id, "now": now},
    )


async def resolve_published(connection: AsyncConnection, post_id: str, url: str | None) -> None:
    """A person checked: the first unpublished file is in fact published."""
    await _lock(connection, post_id, ("unconfirmed", "failed"), "resolved")
    file_id = await _first_unpublished(connection, post_id)
    if file_id is None:
        await settle_if_complete(connection, post_id)
        return
    await note(connection, post_id, "resolved", {"as": "published", "url": url})
    await file_is_out(connection, post_id, file_id, deviation_id=None, url=url, how="a person said so")
    if await _first_unpublished(connection, post_id) is not None:
        await _go_on(connection, post_id)


async def resolve_by_trying(connection: AsyncConnection, post_id: str, *, upload_anew: bool) -> None:
    """A person checked: the file is not published. Publish the same item, or upload the file again."""
    await _lock(connection, post_id, ("unconfirmed", "failed"), "resolved")
    file_id = await _first_unpublished(connection, post_id)
    if file_id is None:
        await settle_if_complete(connection, post_id)
        return
    anew = ", item_id = null, submits = 0, baseline = null, baseline_at = null" if upload_anew else ""
    await connection.execute(
        text(f"""
        update post_file set intent_at = null, first_intent_at = null, unclear = 0,
          refused_as_published = false{anew}
        where id = :id
        """),
        {"id": file_id},
    )
    await note(connection, post_id, "resolved", {"as": "upload_anew" if upload_anew else "retry"})
    await _go_on(connection, post_id)


_AFRESH = "attempts = 0, last_error = null, last_error_code = null,"


async def _go_on(connection: AsyncConnection, post_id: str) -> None:
    await connection.execute(
        text(f"""
        update post set state = 'scheduled', {_AFRESH} due_at = null, planned_for = null,
          publish_at = coalesce(publish_at, now()), updated_at = now()
        where id = :id
        """),
        {"id": post_id},
    )


async def _first_unpublished(connection: AsyncConnection, post_id: str) -> int | None:
    found: int | None = await connection.scalar(
        text("""
        select id from post_file where post_id = :id and published_at is null and deleted_at is null
        order by position, id limit 1
        """),
        {"id": post_id},
    )
    return found


async def _change(
    connection: AsyncConnection,
    post_id: str,
    assignments: str,
    values: dict[str, Any],
    *,
    allowed: Sequence[str],
    becomes: PostState | None,
    event: str,
) -> None:
    await _lock(connection, post_id, allowed, event.replace("_", " "))
    state = "" if becomes is None else ", state = :becomes"
    await connection.execute(
        text(f"update post set {assignments}, updated_at = now(){state} where id = :id"),
        {"id": post_id, "becomes": becomes} | values,
    )
    if "attempts = 0" in assignments:
        await _count_uploads_anew(connection, post_id)
    shown = {name: str(value) for name, value in values.items() if value is not None}
    await note(connection, post_id, event, shown or None)


async def _count_uploads_anew(connection: AsyncConnection, post_id: str) -> None:
    await connection.execute(
        text("update post_file set submits = 0 where post_id = :id and item_id is null"), {"id": post_id}
    )


async def _lock(connection: AsyncConnection, post_id: str, allowed: Sequence[str], wish: str) -> None:
    state = await connection.scalar(
        text("select state from post where id = :id and deleted_at is null for update"), {"id": post_id}
    )
    if state is None:
        raise UsageError("unknown_post", f"There is no post {post_id!r}. See `fascicle post list`.")
    if state not in allowed:
        said = f"Post {post_id} is {state}: only what is {' or '.join(allowed)} can be {wish}."
        raise UsageError("wrong_state", said + _ADVICE.get(state, ""))


_ADVICE = {
    "unconfirmed": " See `fascicle post resolve --help`.",
    "publishing": " It is going out at this moment.",
    "failed": " See `fascicle post retry`.",
}
