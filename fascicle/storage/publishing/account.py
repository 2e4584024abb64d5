"""Accounts: their tokens (encrypted, see `vault`), their pauses, and listings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from fascicle.domain.errors import MustWait, PermanentError
from fascicle.domain.names import new_id
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

# An access token that expires sooner than this is not used: an upload takes time.
ACCESS_MARGIN = timedelta(minutes=5)
_LOCK_WAIT = "20s"
_LOOK_AGAIN_SECONDS = 5.0
_LOCK_NOT_AVAILABLE = "55P03"

_TOKENS = """
select id, name, access_token, refresh_token, generation, paused_at is not null as paused, paused_reason,
       coalesce(access_expires_at > clock_timestamp() + make_interval(secs => :margin), false) as fresh
from account where id = :id
"""


@dataclass(frozen=True)
class AccountTokens:
    """An account's tokens as stored: encrypted. `fresh`: the access token is valid for long enough."""

    id: str
    name: str
    access_token: str | None
    refresh_token: str | None
    generation: int
    paused: bool
    paused_reason: str | None
    fresh: bool


@dataclass(frozen=True)
class SealedPair:
    access_token: str
    refresh_token: str | None
    access_seconds: float
    refresh_seconds: float


async def tokens(connection: AsyncConnection, account_id: str) -> AccountTokens:
    return await _read(connection, _TOKENS, account_id)


async def locked_tokens(connection: AsyncConnection, account_id: str) -> AccountTokens:
    """Like `tokens`, with a lock: nobody else renews them until this transaction ends.

    The lock is not `for update`, which would block new posts of the account meanwhile.
    """
    from sqlalchemy.exc import DBAPIError

    await connection.execute(text(f"set local lock_timeout = '{_LOCK_WAIT}'"))
    try:
        return await _read(connection, f"{_TOKENS} for no key update", account_id)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        raise MustWait(
            "refresh_under_way",
            f"The token of account {account_id} is being renewed elsewhere; it takes long.",
            seconds=_LOOK_AGAIN_SECONDS,
            refused=False,
        ) from error


async def store_pair(
    connection: AsyncConnection, account_id: str, pair: SealedPair, *, generation: int
) -> bool:
    """Store the next generation. False: `generation` is no longer current, and nothing was changed."""
    stored = await connection.scalar(
        text("""update account set
                  access_token = :access, refresh_token = coalesce(cast(:refresh as text), refresh_token),
                  access_expires_at = now() + make_interval(secs => :access_seconds),
                  refresh_expires_at = now() + make_interval(secs => :refresh_seconds),
                  generation = generation + 1, refreshed_at = now()
                where id = :id and generation = :generation returning id"""),
        {"id": account_id, "generation": generation, **_values(pair)},
    )
    return stored is not None


async def expire_access(connection: AsyncConnection, account_id: str, generation: int) -> None:
    """The site refuses the access token of that generation: mark it as expired."""
    await connection.execute(
        text("update account set access_expires_at = now() where id = :id and generation = :generation"),
        {"id": account_id, "generation": generation},
    )


async def pause(connection: AsyncConnection, account_id: str, code: str, reason: str) -> None:
    await connection.execute(
        text("""update account set paused_at = now(), paused_code = :code, paused_reason = :reason
                where id = :id and paused_at is null"""),
        {"id": account_id, "code": code, "reason": reason},
    )


async def claim(
    connection: AsyncConnection, *, site: str, site_user_id: str, name: str, user_id: str | None
) -> tuple[str, bool]:
    """Create or lock the account's row; returns its id and whether it is new. A given owner is stored."""
    row = await connection.execute(
        text("""insert into account (id, site, site_user_id, name, user_id)
                values (:id, :site, :site_user_id, :name, :user_id)
                on conflict (site, site_user_id) do update set
                  name = excluded.name, user_id = coalesce(excluded.user_id, account.user_id)
                returning id, xmax = 0"""),
        {"id": new_id(), "site": site, "site_user_id": site_user_id, "name": name, "user_id": user_id},
    )
    account_id, created = row.one()
    return str(account_id), bool(created)


async def connect(connection: AsyncConnection, account_id: str, pair: SealedPair) -> int:
    """Store a pair that a person obtained, and end the account's pause. Returns the new generation."""
    generation = await connection.scalar(
        text("""update account set
                  access_token = :access, refresh_token = :refresh,
                  access_expires_at = now() + make_interval(secs => :access_seconds),
                  refresh_expires_at = now() + make_interval(secs => :refresh_seconds),
                  generation = generation + 1, refreshed_at = now(),
                  paused_at = null, paused_code = null, paused_reason = null
                where id = :id returning generation"""),
        {"id": account_id, **_values(pair)},
    )
    return int(generation or 0)


async def reseal(
    connection: AsyncConnection, account_id: str, access: str | None, refresh: str | None
) -> None:
    """Store the same tokens under another key; the generation stays."""
    await connection.execute(
        text("update account set access_token = :access, refresh_token = :refresh where id = :id"),
        {"id": account_id, "access": access, "refresh": refresh},
    )


async def ids(connection: AsyncConnection) -> list[str]:
    return list(await connection.scalars(text("select id from account order by name, id")))


async def find(connection: AsyncConnection, wanted: str) -> list[str]:
    """The accounts with that id, or else with that name, ignoring case."""
    found = await connection.scalars(
        text("""select id from account where id = :wanted
                union all
                select id from account where lower(name) = lower(:wanted)
                  and not exists (select 1 from account where id = :wanted)"""),
        {"wanted": wanted},
    )
    return list(found)


async def site_user_id(connection: AsyncConnection, site: str, name: str) -> str | None:
    """The site's own id of the account with that name; None: there is no such account."""
    found: str | None = await connection.scalar(
        text("""select site_user_id from account where site = :site and lower(name) = lower(:name)
                order by created_at, id limit 1"""),
        {"site": site, "name": name},
    )
    return found


async def set_owner(connection: AsyncConnection, account_id: str, user_id: str) -> None:
    await connection.execute(
        text("update account set user_id = :user_id where id = :id"), {"id": account_id, "user_id": user_id}
    )


async def listing(connection: AsyncConnection) -> list[dict[str, Any]]:
    """All accounts with their gates, never a token."""
    rows = await connection.execute(
        text("""select a.id, a.name, a.site, u.name as user, a.paused_at, a.paused_code, a.paused_reason,
                  a.generation, a.access_expires_at, a.refresh_expires_at, a.refreshed_at,
                  g.delay_seconds, coalesce(g.refusals, 0) as refusals, g.open_until,
                  clock_timestamp() as now,
                  (select count(*) from post p where p.account_id = a.id and p.deleted_at is null
                     and p.state in ('scheduled', 'uploading', 'publishing')) as posts_waiting
                from account a left join app_user u on u.id = a.user_id
                  left join gate g on g.name = a.site || ':' || a.id
                order by a.name, a.id""")
    )
    return [dict(row) for row in rows.mappings()]


async def paused(connection: AsyncConnection) -> list[dict[str, Any]]:
    rows = await connection.execute(
        text("""select id, name, paused_code, paused_reason, paused_at from account
                where paused_at is not null order by name, id""")
    )
    return [dict(row) for row in rows.mappings()]


@dataclass(frozen=True)
class Expiring:
    id: str
    name: str
    generation: int
    refresh_expires_at: datetime
    seconds_left: float


async def due_for_renewal(
    connection: AsyncConnection, *, unused_for: timedelta, expires_within: timedelta, limit: int
) -> list[tuple[str, int]]:
    """Ids and generations of accounts whose tokens are old or expire soon, most urgent first."""
    rows = await connection.execute(
        text("""select id, generation from account
                where paused_at is null and refresh_token is not null
                  and (refreshed_at is null or refreshed_at < now() - cast(:unused_for as interval)
                       or refresh_expires_at < now() + cast(:expires_within as interval))
                order by refresh_expires_at nulls first, id limit :limit"""),
        {"unused_for": unused_for, "expires_within": expires_within, "limit": limit},
    )
    return [(row.id, row.generation) for row in rows]


async def expiring(connection: AsyncConnection, within: timedelta) -> list[Expiring]:
    rows = await connection.execute(
        text("""select id, name, generation, refresh_expires_at,
                  extract(epoch from refresh_expires_at - now())::float8 as seconds_left
                from account
                where paused_at is null and refresh_token is not null
                  and refresh_expires_at < now() + cast(:within as interval) order by id"""),
        {"within": within},
    )
    return [Expiring(**row) for row in rows.mappings()]


async def _read(connection: AsyncConnection, query: str, account_id: str) -> AccountTokens:
    values = {"id": account_id, "margin": ACCESS_MARGIN.total_seconds()}
    row = (await connection.execute(text(query), values)).mappings().first()
    if row is None:
        raise PermanentError(
            "unknown_account", f"There is no account {account_id!r}. See `fascicle account list`."
        )
    return AccountTokens(**row)


def _values(pair: SealedPair) -> Mapping[str, Any]:
    return {
        "access": pair.access_token,
        "refresh": pair.refresh_token,
        "access_seconds": pair.access_seconds,
        "refresh_seconds": pair.refresh_seconds,
    }
