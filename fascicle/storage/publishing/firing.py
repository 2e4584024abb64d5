"""Firing an automation (P7): one transaction uses up the window, takes a draft and schedules it.

There is no execution lock: the window's unique key prevents a second firing, `skip locked` keeps two
automations from taking the same draft, and a crash leaves all of it or nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import FascicleError
from fascicle.domain.publishing.automation import Window
from fascicle.domain.publishing.automation_defaults import DEFAULTED, Price
from fascicle.storage.publishing import post as posts
from fascicle.storage.publishing.automation import Automation
from fascicle.storage.publishing.publication import note
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# A draft can be published when it has files and all of them are stored; deleted files do not count.
_PUBLISHABLE = """post.account_id = :account_id and post.state = 'draft' and post.deleted_at is null
  and exists (select 1 from post_file f where f.post_id = post.id and f.deleted_at is null)
  and not exists (select 1 from post_file f
    where f.post_id = post.id and f.deleted_at is null and f.stored_at is null)"""

_DEFAULTED = ", ".join(f"post.{name}" for name in DEFAULTED)

# `random` orders by a hash of the id and a number drawn for this firing.
_ORDERS = {
    "fifo": "post.created_at, post.id",
    "lifo": "post.created_at desc, post.id desc",
    "random": "md5(post.id || :salt)",
}

_RUN = text(
    """
insert into automation_run (automation_id, window_key, outcome, detail, at)
values (:automation_id, :window_key, :outcome, :detail, :now)
on conflict (automation_id, window_key) do nothing returning id
""",
    jsonb_or_null=("detail",),
)

# A draft that was scheduled before may still have a sale row.
_SALE = text(
    """
insert into sale as s (post_id, price, created_at) values (:post_id, :price, :now)
on conflict (post_id) do update set price = excluded.price, state = 'waiting', attempts = 0, settled_at = null
where s.state in ('waiting', 'cancelled')
""",
    jsonb=("price",),
)


@dataclass(frozen=True)
class Firing:
    """The result of a window; without a post there was no draft."""

    post_id: str | None = None
    title: str | None = None
    filled: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        return "no_drafts" if self.post_id is None else "scheduled"


async def fire(
    connection: AsyncConnection, automation: Automation, window: Window, now: datetime, random: Random
) -> Firing | None:
    """Use up the window: take a draft and schedule it. None: the window was fired before."""
    run_id = await _take_window(connection, automation.id, window.key, "no_drafts", None, now)
    if run_id is None:
        return None
    found = await drafts(connection, automation, random, limit=1, lock=True)
    if not found:
        return Firing()
    draft = found[0]
    filling = automation.defaults.filling(draft)
    detail = {"automation": automation.name, "window": window.key, "filled": sorted(filling)}
    await note(connection, draft["id"], "scheduled_by_automation", detail)
    await _schedule(connection, automation, draft["id"], filling, max(window.at, now))
    if automation.sale is not None:
        await _put_on_sale(connection, draft["id"], automation.sale, now)
    await connection.execute(
        text("update automation_run set outcome = 'scheduled', post_id = :post_id where id = :id"),
        {"id": run_id, "post_id": draft["id"]},
    )
    return Firing(draft["id"], draft["title"], tuple(sorted(filling)))


async def drafts(
    connection: AsyncConnection, automation: Automation, random: Random, *, limit: int, lock: bool = False
) -> list[dict[str, Any]]:
    """Drafts in the strategy's order. `lock`: lock them, and leave out those that others hold."""
    rows = await connection.execute(
        text(f"""select post.id, post.title, post.created_at, {_DEFAULTED}
                 from post where {_PUBLISHABLE} order by {_ORDERS[automation.strategy]} limit :limit
                 {"for update skip locked" if lock else ""}"""),
        {"account_id": automation.account_id, "limit": limit}
        | ({"salt": str(random.random())} if automation.strategy == "random" else {}),
    )
    return [dict(row) for row in rows.mappings()]


async def count_drafts(connection: AsyncConnection, account_id: str) -> int:
    return int(
        await connection.scalar(
            text(f"select count(*) from post where {_PUBLISHABLE}"), {"account_id": account_id}
        )
    )


async def record_failure(
    connection: AsyncConnection, automation_id: str, window_key: str, error: FascicleError, now: datetime
) -> bool:
    """Log why a window failed, and use it up. False: it was used up before."""
    detail = {"code": error.code, "message": error.message}
    return await _take_window(connection, automation_id, window_key, "failed", detail, now) is not None


def invalid_key(row: Mapping[str, Any]) -> str:
    """A window key made of an invalid automation's content, so that each content is logged only once."""
    content = [row["rule"], row["time_zone"], row["defaults"], row["sale"]]
    return f"invalid-{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]}"


async def scheduled_at(connection: AsyncConnection, now: datetime) -> list[dict[str, Any]]:
    """The posts that the run of that time scheduled, in any of its attempts."""
    rows = await connection.execute(
        text("""select post.id as post_id, post.title, post.account_id from automation_run r
                join post on post.id = r.post_id
                where r.at = :now and r.outcome = 'scheduled' order by r.id"""),
        {"now": now},
    )
    return [dict(row) for row in rows.mappings()]


async def _take_window(
    connection: AsyncConnection,
    automation_id: str,
    window_key: str,
    outcome: str,
    detail: dict[str, Any] | None,
    now: datetime,
) -> int | None:
    run_id: int | None = await connection.scalar(
        _RUN,
        {
            "automation_id": automation_id,
            "window_key": window_key,
            "outcome": outcome,
            "detail": detail,
            "now": now,
        },
    )
    return run_id


async def _schedule(
    connection: AsyncConnection,
    automation: Automation,
    post_id: str,
    filling: Mapping[str, Any],
    publish_at: datetime,
) -> None:
    """Does not draw the jitter: `posts.schedule` clears `planned_for`, so that the post is planned later."""
    filled = "".join(f", {name} = :{name}" for name in filling)
    await connection.execute(
        text(f"update post set automation_id = :automation_id{filled} where id = :id"),
        {**filling, "id": post_id, "automation_id": automation.id},
    )
    await posts.schedule(connection, post_id, publish_at, jitter_seconds=automation.jitter_seconds)


async def _put_on_sale(connection: AsyncConnection, post_id: str, price: Price, now: datetime) -> None:
    await connection.execute(_SALE, {"post_id": post_id, "price": price.model_dump(mode="json"), "now": now})
