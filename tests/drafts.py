"""Accounts, drafts and automations as another program would write them: straight into the tables."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

AT_SIX = {"kind": "fixed_time", "times": ["18:00"]}


async def add_account(connection: AsyncConnection, name: str = "ann", **columns: Any) -> str:
    await _insert(connection, "account", {"id": f"acc-{name}", "site_user_id": name, "name": name, **columns})
    return f"acc-{name}"


async def add_draft(
    connection: AsyncConnection,
    post_id: str,
    *,
    account_id: str = "acc-ann",
    files: int = 1,
    stored: bool = True,
    **columns: Any,
) -> str:
    await _insert(
        connection, "post", {"id": post_id, "account_id": account_id, "title": post_id.title(), **columns}
    )
    for position in range(1, files + 1):
        place = {"post_id": post_id, "position": position, "object_key": f"{post_id}/{position}"}
        at = {} if stored else {"stored_at": None}
        await _insert(connection, "post_file", {**place, "file_name": "a.png", **at})
    return post_id


async def add_automation(
    connection: AsyncConnection,
    automation_id: str = "daily",
    *,
    account_id: str = "acc-ann",
    rule: Any = AT_SIX,
    **columns: Any,
) -> str:
    values = {
        "id": automation_id,
        "account_id": account_id,
        "name": automation_id,
        "rule": rule,
        "active_since": datetime(2026, 1, 1, tzinfo=UTC),
        **columns,
    }
    await _insert(connection, "automation", values)
    return automation_id


async def _insert(connection: AsyncConnection, table: str, values: dict[str, Any]) -> None:
    json_columns = ("rule", "defaults", "sale")
    names = ", ".join(values)
    places = ", ".join(f"cast(:{name} as jsonb)" if name in json_columns else f":{name}" for name in values)
    bound = {name: json.dumps(value) if name in json_columns else value for name, value in values.items()}
    await connection.execute(text(f"insert into {table} ({names}) values ({places})"), bound)


async def add_sale(connection: AsyncConnection, post_id: str, *, state: str = "published") -> int:
    """A post of that state whose sale waits."""
    await add_draft(connection, post_id, state=state)
    await connection.execute(
        text("update post_file set url = 'https://art.test/' || post_id where post_id = :id"), {"id": post_id}
    )
    sale_id: int = await connection.scalar(
        text("""insert into sale (post_id, price) values (:id, '{"points": 80}') returning id"""),
        {"id": post_id},
    )
    return sale_id
