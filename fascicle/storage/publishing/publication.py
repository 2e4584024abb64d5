"""The steps by which a post is published: every function is one committed fact (P2, P3).

The row decides. Turns are taken under a lock of the account, and a worker commits an intent only if it saw
the state before it; so a worker that was declared dead cannot interfere with its successor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from fascicle.domain.publishing.post import PostState
from fascicle.domain.publishing.publication import FileProgress
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_POST = text("""
select p.*, a.name as account_name, a.paused_at as account_paused_at, a.paused_reason as account_paused_reason
from post p join account a on a.id = p.account_id where p.id = :id and p.deleted_at is null for update of p
""")

_FILES = text("select * from post_file where post_id = :id and deleted_at is null order by position, id")

_INTEND = text("""
update post_file set
  intents = :intent, intent_at = now(), first_intent_at = coalesce(first_intent_at, now())
where id = :file and intents = :intent - 1 and intent_at is null and published_at is null returning id
""")


async def lock_post(connection: AsyncConnection, post_id: str) -> dict[str, Any] | None:
    """The post, locked, with its account's name and pause; None if it was deleted."""
    row = (await connection.execute(_POST, {"id": post_id})).mappings().first()
    return None if row is None else dict(row)


async def files_of(connection: AsyncConnection, post_id: str) -> list[dict[str, Any]]:
    return [dict(row) for row in (await connection.execute(_FILES, {"id": post_id})).mappings()]


def progress_of(file: dict[str, Any]) -> FileProgress:
    return FileProgress(
        id=file["id"],
        item_id=file["item_id"],
        has_baseline=file["baseline_at"] is not None,
        intent_at=file["intent_at"],
        published=file["published_at"] is not None,
    )


async def set_state(connection: AsyncConnection, post_id: str, state: PostState, **error: str | None) -> None:
    await connection.execute(
        text("""
        update post set state = :state, updated_at = now(), waiting_for = null,
          published_at = case when :state = 'published' then coalesce(published_at, now())
                              else published_at end,
          last_error_code = :code, last_error = :error
        where id = :id
        """),
        {"id": post_id, "state": state, "code": error.get("code"), "error": error.get("message")},
    )


async def waits_for(connection: AsyncConnection, post_id: str, what: str | None) -> None:
    await connection.execute(
        text("update post set waiting_for = :what where id = :id and waiting_for is distinct from :what"),
        {"id": post_id, "what": what},
    )


async def count_attempt(connection: AsyncConnection, post_id: str, code: str, message: str) -> int:
    attempts = await connection.scalar(
        text("""
        update post set attempts = attempts + 1, last_error_code = :code, last_error = :message,
          updated_at = now()
        where id = :id returning attempts
        """),
        {"id": post_id, "code": code, "message": message},
    )
    return int(attempts or 0)


async def count_submit(connection: AsyncConnection, file_id: int) -> None:
    """Call this before the request, so that a request without an answer is counted too."""
    await connection.execute(
        text("update post_file set submits = submits + 1 where id = :id"), {"id": file_id}
    )


async def submit_was_refused(connection: AsyncConnection, file_id: int, before: int) -> None:
    """The site definitely did not store the file: the submit does not count."""
    await connection.execute(
        text("update post_file set submits = :before where id = :id and item_id is null"),
        {"id": file_id, "before": before},
    )


async def keep_item(connection: AsyncConnection, file_id: int, item_id: str) -> None:
    await connection.execute(
        text("update post_file set item_id = :item where id = :id and item_id is null"),
        {"id": file_id, "item": item_id},
    )


async def keep_baseline(connection: AsyncConnection, file_id: int, ids: Sequence[str]) -> None:
    await connection.execute(
        text("""
        update post_file set baseline = cast(:ids as text[]), baseline_at = now()
        where id = :id and baseline_at is null
        """),
        {"id": file_id, "ids": list(ids)},
    )


async def intend(connection: AsyncConnection, post_id: str, file_id: int, intent: int) -> bool:
    """Commit to the publish call that follows. False: it was cancelled, or another worker continues it."""
    # Lock the post's row first: a cancel at this moment comes either before us or too late.
    goes_on = await connection.scalar(
        text("""
        update post set state = 'publishing', updated_at = now()
        where id = :id and state in ('uploading', 'publishing') returning id
        """),
        {"id": post_id},
    )
    if goes_on is None:
        return False
    committed = await connection.scalar(_INTEND, {"file": file_id, "intent": intent})
    if committed is not None:
        await note(connection, post_id, "intent", {"file": file_id, "call": intent})
    return committed is not None


async def withdraw_intent(connection: AsyncConnection, post_id: str, file_id: int, intent: int) -> None:
    """The site definitely refused: restore the state before the call. Earlier unclear calls stay unclear."""
    await _lock(connection, post_id)
    withdrawn = await connection.scalar(
        text("""
        update post_file set intent_at = null,
          first_intent_at = case when unclear > 0 then first_intent_at end
        where id = :id and intents = :intent and published_at is null returning id
        """),
        {"id": file_id, "intent": intent},
    )
    if withdrawn is None:
        return
    await connection.execute(
        text("""
        update post set state = 'uploading' where id = :id and state = 'publishing' and not exists (
          select 1 from post_file where post_id = :id and (published_at is not null or unclear > 0))
        """),
        {"id": post_id},
    )


async def call_was_unclear(connection: AsyncConnection, post_id: str, file_id: int, intent: int) -> bool:
    """Enough looks did not find the publication: the next call, for the same item, will show the truth."""
    await _lock(connection, post_id)
    found = await connection.scalar(
        text("""
        update post_file set intent_at = null, unclear = unclear + 1
        where id = :id and intents = :intent and intent_at is not null and published_at is null returning id
        """),
        {"id": file_id, "intent": intent},
    )
    if found is not None:
        await note(connection, post_id, "not_found", {"file": file_id, "call": intent})
    return found is not None


async def leave_to_a_person(
    connection: AsyncConnection, post_id: str, file_id: int, intent: int, *, code: str, message: str
) -> bool:
    """It is unknown whether that call published the file: a person must check. False: it is known by now."""
    await _lock(connection, post_id)
    still = await connection.scalar(
        text("""
        select 1 from post_file f join post p on p.id = f.post_id
        where f.id = :id and f.intents = :intent and f.published_at is null
          and p.state in ('uploading', 'publishing')
        """),
        {"id": file_id, "intent": intent},
    )
    if still is None:
        return False
    await set_state(connection, post_id, PostState.UNCONFIRMED, code=code, message=message)
    await note(connection, post_id, "unconfirmed", {"code": code, "why": message})
    return True


async def _lock(connection: AsyncConnection, post_id: str) -> None:
    """Lock the post before its files; the other order can deadlock."""
    await connection.execute(text("select 1 from post where id = :id for update"), {"id": post_id})


async def refused_as_published(connection: AsyncConnection, file_id: int) -> None:
    await connection.execute(
        text("update post_file set refused_as_published = true where id = :id"), {"id": file_id}
    )


async def file_is_out(
    connection: AsyncConnection,
    post_id: str,
    file_id: int,
    *,
    deviation_id: str | None,
    url: str | None,
    how: str,
) -> None:
    """Mark a file as published, unless it is already; with its last file the post is published."""
    await _lock(connection, post_id)
    out = await connection.scalar(
        text("""
        update post_file set published_at = now(), intent_at = null, deviation_id = :deviation, url = :url
        where id = :id and published_at is null returning id
        """),
        {"id": file_id, "deviation": deviation_id, "url": url},
    )
    if out is None:
        return
    await note(
        connection,
        post_id,
        "file_published",
        {"file": file_id, "how": how, "deviation_id": deviation_id, "url": url},
    )
    await settle_if_complete(connection, post_id)


async def settle_if_complete(connection: AsyncConnection, post_id: str) -> None:
    """Mark the post as published if all its files are."""
    remaining = await connection.scalar(
        text("""select count(*) from post_file
                where post_id = :id and deleted_at is null and published_at is null"""),
        {"id": post_id},
    )
    if not remaining:
        await set_state(connection, post_id, PostState.PUBLISHED)
        await note(connection, post_id, "published", None)


async def known_deviations(connection: AsyncConnection, account_id: str) -> list[str]:
    """Deviations that this account published through us: none of them is the one we look for."""
    rows = await connection.execute(
        text("""
        select f.deviation_id from post_file f join post p on p.id = f.post_id
        where p.account_id = :account and f.deviation_id is not null order by f.published_at desc limit 500
        """),
        {"account": account_id},
    )
    return [row[0] for row in rows]


async def note(
    connection: AsyncConnection, post_id: str, kind: str, detail: dict[str, Any] | None = None
) -> int:
    """Add an event to the post's log; returns its number."""
    number = await connection.scalar(
        text("""
        insert into post_event (post_id, kind, detail)
        values (:id, :kind, cast(:detail as jsonb)) returning id
        """),
        {"id": post_id, "kind": kind, "detail": None if detail is None else orjson.dumps(detail).decode()},
    )
    return int(number or 0)
