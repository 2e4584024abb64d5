"""Channels' addresses under the keyring: of an earlier version, in clear; after a new key, all."""

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import FascicleError
from fascicle.runtime.dependencies import Dependencies
from fascicle.runtime.embedded.postgres import is_own_server
from fascicle.runtime.logs import get_logger
from fascicle.storage import channel as channels
from fascicle.storage import traces
from fascicle.storage.database import refused_by_database, statement, transaction
from fascicle.storage.vault import CHANNEL, Vault, key_id_of

log = get_logger("fascicle.channels")


async def settle_channels(dependencies: Dependencies) -> None:
    """At the start of a worker."""
    engine, settings = dependencies.engine, dependencies.settings
    await seal_channels(engine, dependencies.vault)
    await remove_traces(engine, own_server=is_own_server(settings.database_url, settings.data_dir))
    await warn_of_missing_keys(engine, dependencies.vault)


async def seal_channels(engine: AsyncEngine, vault: Vault, *, make_key: bool = False) -> int:
    """How many were sealed. Without a key they stay readable, unless one may be made."""
    async with transaction(engine) as connection:
        clear = await channels.clear_ids(connection)
    if clear and (await vault.keyring(make=make_key)).first is None:
        log.warning("channels_not_sealed", channels=len(clear), remedy="set FASCICLE_TOKEN_KEYS")
        return 0
    for channel_id in clear:
        async with transaction(engine) as connection:
            address = await channels.locked(connection, channel_id)
            if address is not None:
                sealed = await _sealed_anew(vault, address)
                await channels.reseal(connection, channel_id, sealed)
                await traces.mark_channels(connection)
    if clear:
        log.info("channels_sealed", channels=len(clear))
    return len(clear)


async def warn_of_missing_keys(engine: AsyncEngine, vault: Vault) -> set[str]:
    """Keys that are not here: nobody is told through the channels that need them."""
    async with transaction(engine) as connection:
        missing = await channels.key_ids(connection) - set((await vault.keyring()).fingerprints)
    if missing:
        log.error("channels_unreadable", keys=sorted(missing), remedy="put the keys into FASCICLE_TOKEN_KEYS")
    return missing


async def rotate_channel(engine: AsyncEngine, vault: Vault, channel_id: int) -> tuple[str, str | None]:
    """`rotated`, `unchanged` or `failed`, and why. What is under the first key already must open, too."""
    first = (await vault.keyring()).first
    try:
        async with transaction(engine) as connection:
            address = await channels.locked(connection, channel_id)
            if address is None:
                return "unchanged", None
            sealed = await _sealed_anew(vault, address)
            if key_id_of(address.stored) == first:
                return "unchanged", None
            await channels.reseal(connection, channel_id, sealed)
    except FascicleError as error:
        return "failed", error.message
    return "rotated", None


async def remove_traces(engine: AsyncEngine, *, own_server: bool) -> None:
    """`own_server`: the embedded one, whose statistics and log are ours to rewrite."""
    async with statement(engine) as connection:
        if not await traces.channels_are_marked(connection):
            return
        try:
            await traces.rewrite_channels(connection)
            if own_server:
                await traces.rewrite_server(connection)
            await traces.unmark_channels(connection)
        except Exception as error:
            if (refusal := refused_by_database(error)) is None:
                raise
            log.warning("traces_not_removed", reason=str(refusal), remedy="the next start tries again")
            return
    if not own_server:
        where = "the server's write-ahead log, its archive, and backups made before"
        log.warning("traces_may_be_left", of="channels' addresses stored by an earlier version", where=where)


async def _sealed_anew(vault: Vault, address: channels.StoredAddress) -> str:
    return await vault.encrypt(await address.opened(vault), account_id=address.owner, kind=CHANNEL)
