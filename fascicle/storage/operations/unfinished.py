"""Rows that need a workflow, kind by kind: all workflows can be rebuilt from the database alone (X1).

Each kind is read in pages, by key; `after` is the last key of the previous page.
"""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.storage.fics.fic_job import WAITING

PAGE = 500

_SOURCES = text("""
select id as key, id, series_id, site, title, cadence, circuit, failure_count, first_synced_at, paused_at,
  paused_reason, next_check_at
from source where removed_at is null and id > :after order by id limit :limit
""")

# Owed to followers, or with unsettled messages.
_CHAPTERS = text("""
select id as key, series_id, id from logical_chapter where announce = 'owed' and id > :after
union
select c.id, c.series_id, c.id from delivery d join logical_chapter c on c.id = d.chapter_id
where d.state in ('pending', 'sending') and c.id > :after
order by 1 limit :limit
""")

_POSTS = text("""
select id as key, id, title, account_id from post
where state in ('scheduled', 'uploading', 'publishing') and deleted_at is null and id > :after
order by id limit :limit
""")

# To be read, or with messages or replies still to be sent.
_FICS = text(f"""
select key, site, kind, site_id as id, url from fic_job job
where key > :after and ({WAITING}
  or exists (select from delivery d where d.job_key = job.key and d.state in ('pending', 'sending'))
  or exists (select from discord_reply r where r.job_key = job.key and r.state = 'open'))
order by key limit :limit
""")

_REQUESTS = text("""
select id as key, id, url, correlation_id, round from request
where id > :after and (status in ('pending', 'running') or exists (
  select from delivery d where d.job_key = 'request-' || request.id and d.state in ('pending', 'sending')))
order by id limit :limit
""")

_ITEMS = text("""
select id as key, id, title, url from item where enrich = 'due' and id > :after order by id limit :limit
""")

_BY_KIND: dict[str, tuple[Any, str | int]] = {
    "sources": (_SOURCES, ""),
    "chapters": (_CHAPTERS, 0),
    "posts": (_POSTS, ""),
    "fics": (_FICS, ""),
    "requests": (_REQUESTS, ""),
    "items": (_ITEMS, 0),
}
KINDS = tuple(_BY_KIND)


async def page(
    connection: AsyncConnection, kind: str, after: str | int | None = None, limit: int = PAGE
) -> list[dict[str, Any]]:
    """Rows with `key` and the input of their workflow; an empty list means that there are no more."""
    statement, first = _BY_KIND[kind]
    rows = await connection.execute(statement, {"after": first if after is None else after, "limit": limit})
    return [dict(row) for row in rows.mappings()]


async def mail_waits(connection: AsyncConnection) -> bool:
    found = await connection.scalar(
        text("select exists (select from mail where state in ('pending', 'sending'))")
    )
    return bool(found)
