"""Channels: addresses for messages to people. Each is a secret, sealed for its owner: a user or a purpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.storage.operations.vault import CHANNEL, key_id_of
from fascicle.storage.sql import text

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from fascicle.storage.operations.vault import Vault

# A clear address contains `://`, a sealed one never does. Earlier versions stored clear addresses.
_SEPARATOR = "://"
_OWNER = "coalesce(user_id, purpose)"


@dataclass(frozen=True)
class StoredAddress:
    owner: str
    stored: str = field(repr=False)

    async def opened(self, vault: Vault) -> str:
        """The clear address. Raises PermanentError if its key is missing."""
        if _SEPARATOR in self.stored:
            return self.stored
        return await vault.decrypt(self.stored, account_id=self.owner, kind=CHANNEL)


async def add_channel(connection: AsyncConnection, vault: Vault, user_id: str, url: str) -> bool:
    """False: the user has this channel already."""
    # Lock the user: sealed addresses cannot be compared by an index, so it cannot prevent duplicates.
    await connection.execute(text("select 1 from app_user where id = :id for no key update"), {"id": user_id})
    rows = await connection.execute(text("select url from channel where user_id = :id"), {"id": user_id})
    for stored in rows.scalars():
        if await _is(vault, StoredAddress(user_id, str(stored)), url):
            return False
    await connection.execute(
        text("insert into channel (user_id, kind, url) values (:user_id, :kind, :url)"),
        {"user_id": user_id, "kind": _kind(url), "url": await _sealed(connection, vault, user_id, url)},
    )
    return True


async def set_purpose(connection: AsyncConnection, vault: Vault, purpose: str, url: str | None) -> None:
    """Set the installation's own channel for a purpose; `url` None removes it."""
    if url is None:
        await connection.execute(text("delete from channel where purpose = :p"), {"p": purpose})
        return
    await connection.execute(
        text("""insert into channel (purpose, kind, url) values (:purpose, :kind, :url)
                on conflict (purpose) do update set kind = excluded.kind, url = excluded.url"""),
        {"purpose": purpose, "kind": _kind(url), "url": await _sealed(connection, vault, purpose, url)},
    )


async def of_purpose(connection: AsyncConnection, vault: Vault, purpose: str) -> str | None:
    stored = await connection.scalar(text("select url from channel where purpose = :p"), {"p": purpose})
    return None if stored is None else await StoredAddress(purpose, str(stored)).opened(vault)


async def move_channel(connection: AsyncConnection, vault: Vault, user_id: str, url: str) -> None:
    """Point all the user's channels to `url`, or add a first one; pending messages stay pending."""
    sealed = await _sealed(connection, vault, user_id, url)
    moved = await connection.execute(
        text("update channel set kind = :kind, url = :url where user_id = :id"),
        {"id": user_id, "kind": _kind(url), "url": sealed},
    )
    if not moved.rowcount:
        await add_channel(connection, vault, user_id, url)


async def ids(connection: AsyncConnection) -> list[int]:
    return list((await connection.execute(text("select id from channel order by id"))).scalars())


async def locked(connection: AsyncConnection, channel_id: int) -> StoredAddress | None:
    """The channel's address, locked, for a caller that is about to reseal it."""
    row = (
        await connection.execute(
            text(f"select {_OWNER} as owner, url from channel where id = :id for no key update"),
            {"id": channel_id},
        )
    ).first()
    return None if row is None else StoredAddress(row.owner, row.url)


async def reseal(connection: AsyncConnection, channel_id: int, sealed: str) -> None:
    await connection.execute(
        text("update channel set url = :url where id = :id"), {"id": channel_id, "url": sealed}
    )


async def clear_ids(connection: AsyncConnection) -> list[int]:
    """Channels whose address an earlier version stored unsealed."""
    rows = await connection.execute(
        text("select id from channel where position(:separator in url) > 0 order by id"),
        {"separator": _SEPARATOR},
    )
    return list(rows.scalars())


async def key_ids(connection: AsyncConnection) -> set[str]:
    """The ids of the keys that channels are sealed with."""
    rows = await connection.execute(
        text("""select distinct on (split_part(url, '.', 2)) url from channel
                where position(:separator in url) = 0"""),
        {"separator": _SEPARATOR},
    )
    return {key_id for stored in rows.scalars() if (key_id := key_id_of(stored)) is not None}


async def _sealed(connection: AsyncConnection, vault: Vault, owner: str, url: str) -> str:
    if (await vault.keyring()).first is None and await key_ids(connection):
        raise UsageError(
            "no_key",
            "Channels are sealed with a key that is not here, and the workers could not open what is sealed "
            "with another one. Set FASCICLE_TOKEN_KEYS (or its file) as they have it.",
        )
    return await vault.encrypt(url, account_id=owner, kind=CHANNEL)


async def _is(vault: Vault, address: StoredAddress, url: str) -> bool:
    try:
        return await address.opened(vault) == url
    except PermanentError:  # its key is missing: it cannot be compared
        return False


def _kind(url: str) -> str:
    return url.partition(_SEPARATOR)[0]
