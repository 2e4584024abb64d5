"""Automations: their rows and the log of their runs (P7). Firing is in `firing`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, ValidationError

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.domain.names import new_id
from fascicle.domain.publishing.automation import Rule, parse_rule
from fascicle.domain.publishing.automation_defaults import AutomationDefaults, Price, parse_price
from fascicle.domain.times import zone_named
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

MAX_JITTER_SECONDS = 7 * 86400


@dataclass(frozen=True)
class Automation:
    """A validated automation: another program may have written the row."""

    id: str
    name: str
    account_id: str
    rule: Rule
    zone: ZoneInfo
    strategy: str
    defaults: AutomationDefaults
    jitter_seconds: float
    sale: Price | None
    active_since: datetime


class NewAutomation(BaseModel):
    account_id: str
    name: str
    rule: Rule
    time_zone: str
    strategy: Literal["random", "fifo", "lifo"] = "fifo"
    defaults: AutomationDefaults = AutomationDefaults()
    jitter_seconds: float = Field(0, ge=0, le=MAX_JITTER_SECONDS)
    sale: Price | None = None


_CREATE = text(
    """
insert into automation (id, account_id, name, rule, time_zone, strategy, defaults, jitter_seconds, sale,
  active_since, created_at)
values (:id, :account_id, :name, :rule, :time_zone, :strategy, :defaults, :jitter_seconds, :sale, :now, :now)
on conflict (account_id, name) do nothing returning id
""",
    jsonb=("rule", "defaults"),
    jsonb_or_null=("sale",),
)

_SHOWN = """a.*, account.name as account, account.paused_at is not null as account_paused,
  (select max(r.at) from automation_run r where r.automation_id = a.id and r.outcome = 'scheduled')
  as last_scheduled_at"""


async def create(connection: AsyncConnection, new: NewAutomation, now: datetime) -> str | None:
    """Returns its id; None: the account already has one of that name."""
    values = new.model_dump(mode="json", exclude={"defaults"})
    created = await connection.scalar(
        _CREATE,
        {**values, "id": new_id(), "defaults": new.defaults.model_dump(exclude_none=True), "now": now},
    )
    return None if created is None else str(created)


async def listing(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text(f"""select {_SHOWN} from automation a join account on account.id = a.account_id
                 order by account.name, a.name, a.id""")
    )
    return [dict(row) for row in rows.mappings()]


async def get(connection: AsyncConnection, automation_id: str) -> dict[str, Any] | None:
    rows = await connection.execute(
        text(f"""select {_SHOWN} from automation a join account on account.id = a.account_id
                 where a.id = :id"""),
        {"id": automation_id},
    )
    row = rows.mappings().first()
    return None if row is None else dict(row)


async def active(connection: AsyncConnection) -> list[dict[str, Any]]:
    """Enabled automations of accounts that are not paused."""
    rows = await connection.execute(
        text("""select a.* from automation a join account on account.id = a.account_id
                where a.enabled and account.paused_at is null order by a.id""")
    )
    return [dict(row) for row in rows.mappings()]


async def may_fire(connection: AsyncConnection, automation_id: str, window_key: str) -> bool:
    """True if it is active and has not fired for that window. It is locked until the transaction ends."""
    found = await connection.scalar(
        text("""select 1 from automation a join account on account.id = a.account_id
                where a.id = :id and a.enabled and account.paused_at is null and not exists
                  (select 1 from automation_run r where r.automation_id = a.id and r.window_key = :key)
                for share of a"""),
        {"id": automation_id, "key": window_key},
    )
    return found is not None


def checked(row: Mapping[str, Any]) -> Automation:
    """The automation of a row. Raises PermanentError, which names the invalid column."""
    if not 0 <= row["jitter_seconds"] <= MAX_JITTER_SECONDS:
        raise PermanentError("invalid_automation", f"jitter_seconds: must be 0 to {MAX_JITTER_SECONDS}")
    return Automation(
        id=row["id"],
        name=row["name"],
        account_id=row["account_id"],
        rule=_parsed("rule", lambda: parse_rule(row["rule"])),
        zone=zone_named(row["time_zone"]),
        strategy=row["strategy"],
        defaults=_parsed("defaults", lambda: AutomationDefaults.model_validate(row["defaults"])),
        jitter_seconds=row["jitter_seconds"],
        sale=None if row["sale"] is None else _parsed("sale", lambda: parse_price(row["sale"])),
        active_since=row["active_since"],
    )


def _parsed(column: str, parse: Any) -> Any:
    try:
        return parse()
    except ValidationError as error:
        raise PermanentError("invalid_automation", f"{column}: {first_reason(error)}") from error


def first_reason(error: ValidationError) -> str:
    """The first of pydantic's errors, in one line."""
    problem = error.errors(include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else problem["msg"]


async def enable(connection: AsyncConnection, automation_id: str, now: datetime) -> bool:
    """Windows before `now` are not caught up. False: it was enabled already, and keeps its start time."""
    result = await connection.execute(
        text("update automation set enabled = true, active_since = :now where id = :id and not enabled"),
        {"id": automation_id, "now": now},
    )
    return result.rowcount > 0


async def disable(connection: AsyncConnection, automation_id: str) -> bool:
    result = await connection.execute(
        text("update automation set enabled = false where id = :id and enabled"), {"id": automation_id}
    )
    return result.rowcount > 0


async def delete(connection: AsyncConnection, automation_id: str) -> None:
    """Delete it with its log. Posts that it scheduled stay scheduled."""
    await connection.execute(text("delete from automation where id = :id"), {"id": automation_id})


async def runs(connection: AsyncConnection, automation_id: str, limit: int) -> list[dict[str, Any]]:
    """The log, newest first."""
    rows = await connection.execute(
        text("""select r.at, r.window_key, r.outcome, r.post_id, post.title, r.detail
                from automation_run r left join post on post.id = r.post_id
                where r.automation_id = :id order by r.id desc limit :limit"""),
        {"id": automation_id, "limit": limit},
    )
    return [dict(row) for row in rows.mappings()]


async def named(connection: AsyncConnection, wanted: str) -> dict[str, Any]:
    """The one automation with that id or name; otherwise an error that lists the candidates."""
    rows = list(
        (
            await connection.execute(
                text(f"""select {_SHOWN} from automation a join account on account.id = a.account_id
                         where a.id = :wanted or a.name = :wanted
                           or account.name || '/' || a.name = :wanted
                         order by a.id = :wanted desc, a.id"""),
                {"wanted": wanted},
            )
        ).mappings()
    )
    if not rows:
        raise UsageError(
            "unknown_automation", f"There is no automation {wanted!r}. See `fascicle automation list`."
        )
    if len(rows) > 1 and rows[0]["id"] != wanted:
        choices = ", ".join(f"{row['account']}/{row['name']}" for row in rows)
        raise UsageError("ambiguous", f"Several automations are called {wanted!r}: say {choices}, or an id.")
    return dict(rows[0])


async def fired_keys(connection: AsyncConnection, automation_id: str, keys: Sequence[str]) -> set[str]:
    """The windows among these that have fired already."""
    rows = await connection.scalars(
        text("""select window_key from automation_run
                where automation_id = :id and window_key = any(cast(:keys as text[]))"""),
        {"id": automation_id, "keys": list(keys)},
    )
    return set(rows)
