"""Replies on Discord that wait for their job: their owner, their text, and how long they can be edited."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import SecretStr

from fascicle.domain.errors import PermanentError
from fascicle.storage.operations.vault import Vault
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy import RowMapping
    from sqlalchemy.ext.asyncio import AsyncConnection

# Discord allows 15 minutes; the rest is left for the edit itself.
REPLY_LIFETIME = timedelta(minutes=14, seconds=30)
# More than twice the time by which a signature may be too old or too new.
_REMEMBERED = timedelta(minutes=30)
_MOST_ERROR = 2000
_COLUMNS = """id, job_key, user_id, application_id, token, channel_id, discord_user_id, shown, state,
       attempts, next_attempt_at, expires_at"""


@dataclass(frozen=True)
class StoredReply:
    id: int
    job_key: str
    user_id: str
    application_id: str
    sealed_token: str
    channel_id: str | None
    discord_user_id: str
    shown: str | None
    state: str
    attempts: int
    next_attempt_at: datetime
    expires_at: datetime


async def take_interaction(connection: AsyncConnection, interaction_id: str) -> bool:
    """True for the first caller with this id, False for all others, in whichever process they run."""
    await connection.execute(
        text("delete from discord_interaction where taken_at < now() - cast(:age as interval)"),
        {"age": _REMEMBERED},
    )
    taken = await connection.scalar(
        text("insert into discord_interaction (id) values (:id) on conflict do nothing returning id"),
        {"id": interaction_id},
    )
    return taken is not None


async def keep_reply(
    connection: AsyncConnection,
    vault: Vault,
    *,
    job_key: str,
    user_id: str,
    application_id: str,
    token: SecretStr,
    channel_id: str | None,
    discord_user_id: str,
    received_at: datetime,
    not_before: datetime | None = None,
) -> int:
    """Returns the reply's id: one per token, however often Discord delivers the interaction.

    `not_before`: until then another process edits the reply.
    """
    await connection.execute(
        text("select pg_advisory_xact_lock(:token)"), {"token": _fingerprint(token.get_secret_value())}
    )
    found = await _kept(connection, vault, job_key, discord_user_id, token)
    if found is not None:
        return found
    sealed = await vault.encrypt(
        token.get_secret_value(), account_id=discord_user_id, kind=_token_kind(job_key)
    )
    reply_id = await connection.scalar(
        text("""insert into discord_reply
                  (job_key, user_id, application_id, token, channel_id, discord_user_id, expires_at,
                   next_attempt_at)
                values (:job_key, :user_id, :application_id, :token, :channel_id, :person,
                  :expires_at, coalesce(cast(:not_before as timestamptz), now()))
                returning id"""),
        {
            "job_key": job_key,
            "user_id": user_id,
            "application_id": application_id,
            "token": sealed,
            "channel_id": channel_id,
            "person": discord_user_id,
            "expires_at": received_at + REPLY_LIFETIME,
            "not_before": not_before,
        },
    )
    return int(reply_id or 0)


async def open_replies(connection: AsyncConnection, job_key: str) -> list[StoredReply]:
    """Replies still to be edited, oldest first; some may have expired meanwhile."""
    rows = await connection.execute(
        text(f"select {_COLUMNS} from discord_reply where job_key = :job and state = 'open' order by id"),
        {"job": job_key},
    )
    return [_reply(row) for row in rows.mappings()]


async def next_attempt_at(connection: AsyncConnection, job_key: str) -> datetime | None:
    """When the first reply that is still to be edited is due."""
    found: datetime | None = await connection.scalar(
        text("select min(next_attempt_at) from discord_reply where job_key = :job and state = 'open'"),
        {"job": job_key},
    )
    return found


async def token_of(vault: Vault, reply: StoredReply) -> SecretStr:
    """Raises PermanentError when the key it was encrypted with is gone: the reply is lost then."""
    return SecretStr(
        await vault.decrypt(
            reply.sealed_token, account_id=reply.discord_user_id, kind=_token_kind(reply.job_key)
        )
    )


async def settle_reply(connection: AsyncConnection, reply_id: int, shown: str) -> None:
    """Mark the reply as final: it shows the result and is not edited again."""
    await connection.execute(
        text("""update discord_reply set state = 'settled', shown = :shown, last_error = null
                where id = :id and state = 'open'"""),
        {"id": reply_id, "shown": shown},
    )


async def record_failure(
    connection: AsyncConnection, reply_id: int, error: str, next_attempt_at: datetime
) -> int:
    """An edit failed and is tried again. Returns how many attempts failed in a row."""
    attempts = await connection.scalar(
        text("""update discord_reply set attempts = attempts + 1, last_error = :error,
                  next_attempt_at = :next_attempt_at
                where id = :id and state = 'open' returning attempts"""),
        {"id": reply_id, "error": error[:_MOST_ERROR], "next_attempt_at": next_attempt_at},
    )
    return int(attempts or 0)


async def put_off(connection: AsyncConnection, reply_id: int, why: str, next_attempt_at: datetime) -> None:
    """Postpone the edit until Discord may be called; this counts as no attempt (X2)."""
    await connection.execute(
        text("""update discord_reply set last_error = :why, next_attempt_at = :next_attempt_at
                where id = :id and state = 'open'"""),
        {"id": reply_id, "why": why[:_MOST_ERROR], "next_attempt_at": next_attempt_at},
    )


async def lost(connection: AsyncConnection, reply_id: int, error: str) -> StoredReply | None:
    """Give up a reply that cannot be edited any more. None: it was settled or lost before."""
    rows = await connection.execute(
        text(f"""update discord_reply set state = 'lost', last_error = :error
                 where id = :id and state = 'open' returning {_COLUMNS}"""),
        {"id": reply_id, "error": error[:_MOST_ERROR]},
    )
    row = rows.mappings().first()
    return None if row is None else _reply(row)


async def _kept(
    connection: AsyncConnection, vault: Vault, job_key: str, discord_user_id: str, token: SecretStr
) -> int | None:
    rows = await connection.execute(
        text(f"""select {_COLUMNS} from discord_reply
                 where job_key = :job and discord_user_id = :person and expires_at > now()"""),
        {"job": job_key, "person": discord_user_id},
    )
    for reply in map(_reply, rows.mappings().all()):
        try:
            if await token_of(vault, reply) == token:
                return reply.id
        except PermanentError:  # its key is missing, so it is not the token that came just now
            continue
    return None


def _reply(row: RowMapping) -> StoredReply:
    fields = dict(row)
    return StoredReply(sealed_token=fields.pop("token"), **fields)


def _token_kind(job_key: str) -> str:
    """Binds the token to its job: copied to another job's row, it does not decrypt."""
    return f"discord reply {job_key}"


def _fingerprint(token: str) -> int:
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], signed=True)
