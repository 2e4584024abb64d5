"""Checks that this process has the keys that the installation's payloads are encrypted with.

A process that lacks a key, or has another key under its name, must notice this before it takes or gives work.
The database remembers the fingerprints of all keys that were ever used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fascicle.domain.errors import PermanentError
from fascicle.settings.payload_keys import PayloadKeys
from fascicle.storage.database import transaction
from fascicle.storage.operations import payload_key
from fascicle.storage.operations.keyring import Keyring

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine


async def agree_on_keys(engine: AsyncEngine, keys: PayloadKeys, *, may_begin: bool = True) -> None:
    """Call it before sealing or opening anything: it checks all keys in use, and records the one that seals.

    `may_begin`: this process may bring a new key into use. Workers may; processes that only talk to them not.
    """
    async with transaction(engine) as connection:
        used = await payload_key.fingerprints(connection)
        for key_id, fingerprint in used.items():
            _check(keys.ring, key_id, fingerprint)
        first = keys.seals_with
        if first is None or first in used:
            return
        if not may_begin:
            raise PermanentError(
                "payload_key_unused",
                f"No worker encrypts with the key {first!r} yet, and none might be able to read it: set "
                "FASCICLE_PAYLOAD_KEYS for the workers first, as it is here.",
            )
        # Two processes with different new keys must not both find that no key is in use yet.
        await payload_key.lock(connection)
        for key_id, fingerprint in (await payload_key.fingerprints(connection)).items():
            _check(keys.ring, key_id, fingerprint)
        _check(keys.ring, first, await payload_key.record(connection, first, keys.ring.fingerprints[first]))


def _check(ring: Keyring, key_id: str, fingerprint: str) -> None:
    ours = ring.fingerprints.get(key_id)
    if ours == fingerprint:
        return
    wanted = f"This installation's payloads are encrypted with the key {key_id!r} (fingerprint {fingerprint})"
    if ours is not None:
        raise PermanentError(
            "payload_key_wrong",
            f"{wanted}; the one of that name in FASCICLE_PAYLOAD_KEYS is another (fingerprint {ours}). "
            "Put the right key there; a new key needs a new name.",
        )
    if not ring.fingerprints:
        raise PermanentError(
            "payload_key_missing", f"{wanted}: set FASCICLE_PAYLOAD_KEYS to its keys here as well."
        )
    raise PermanentError(
        "payload_key_missing",
        f"{wanted}, which is not in FASCICLE_PAYLOAD_KEYS: add it, behind the first one. Once "
        f"`fascicle payload keys` says that nothing uses it any more: fascicle payload forget {key_id}",
    )
