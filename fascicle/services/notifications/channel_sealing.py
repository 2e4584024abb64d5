"""Seals channels' addresses: clear ones of an earlier version, and all of them after a new key."""

from sqlalchemy.ext.asyncio import AsyncEngine

from fascicle.domain.errors import FascicleError
from fascicle.embedded.postgres import is_own_server
from fascicle.process.logs import get_logger
from fascicle.services.dependencies import Dependencies
from fascicle.storage.database import refused_by_database, statement, transaction
from fascicle.storage.notifications import channel as channels
from fascicle.storage.operations import traces
from fascicle.storage.operations.vault import CHANNEL, Vault, key_id_of

log = get_logger("fascicle.channels")


async def settle_channels(dependencies: Dependencies) -> None:
    """Seal clear addresses, remove their traces and warn of missing keys; called when a worker starts."""
    engine, settings = dependencies.engine, dependencies.settings
    await seal_channels(engine, dependencies.vault)
    await remove_traces(engine, own_server=is_own_server(settings.database_url, settings.data_dir))
    await warn_of_missing_keys(engine, dependencies.vault)


async def seal_channels(engine: AsyncEngine, vault: Vault, *, make_key: bool = False) -> int:
    """Returns how many were sealed. Without a key they stay clear, unless `make_key` allows to create one."""
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
    """Returns the ids of missing keys; channels that need them cannot be used."""
    async with transaction(engine) as connection:
        missing = await channels.key_ids(connection) - set((await vault.keyring()).fingerprints)
    if missing:
        log.error("channels_unreadable", keys=sorted(missing), remedy="put the keys into FASCICLE_TOKEN_KEYS")
    return missing


async def rotate_channel(engine: AsyncEngine, vault: Vault, channel_id: int) -> tuple[str, str | None]:
    """Returns `rotated`, `unchanged` or `failed`, and why. Also checks that an unchanged address opens."""
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
    """`own_server`: the embedded server, whose statistics and log we may rewrite."""
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
