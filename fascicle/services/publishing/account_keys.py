"""Rotating the keys: seals secrets of accounts and channels with the first key, with their row locked."""

from collections.abc import Mapping, Sequence
from typing import Any

from fascicle.domain.errors import FascicleError
from fascicle.services.dependencies import Dependencies
from fascicle.services.notifications import channel_sealing
from fascicle.storage.database import transaction
from fascicle.storage.operations.vault import ACCESS, REFRESH, key_id_of
from fascicle.storage.publishing import account as accounts


async def rotate_account(dependencies: Dependencies, account_id: str) -> dict[str, Any]:
    """Rotate both tokens or none. Tokens under the first key are decrypted too, as a check."""
    vault = dependencies.vault
    first = (await vault.keyring()).first
    try:
        async with transaction(dependencies.engine) as connection:
            found = await accounts.locked_tokens(connection, account_id)
            stored = {ACCESS: found.access_token, REFRESH: found.refresh_token}
            secrets = {
                kind: await vault.decrypt(sealed, account_id=account_id, kind=kind)
                for kind, sealed in stored.items()
                if sealed is not None
            }
            if all(sealed is None or key_id_of(sealed) == first for sealed in stored.values()):
                return _row(account_id, "unchanged")
            sealed = {
                kind: await vault.encrypt(secret, account_id=account_id, kind=kind)
                for kind, secret in secrets.items()
            }
            await accounts.reseal(connection, account_id, sealed.get(ACCESS), sealed.get(REFRESH))
    except FascicleError as error:
        return _row(account_id, "failed", error.message)
    return _row(account_id, "rotated")


async def rotate_channel(dependencies: Dependencies, channel_id: int) -> dict[str, Any]:
    outcome, detail = await channel_sealing.rotate_channel(
        dependencies.engine, dependencies.vault, channel_id
    )
    return {"channel": channel_id, "outcome": outcome, "detail": detail}


def outcomes(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {word: sum(row["outcome"] == word for row in rows) for word in ("rotated", "unchanged", "failed")}


def in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _row(account_id: str, outcome: str, detail: str | None = None) -> dict[str, Any]:
    return {"account": account_id, "outcome": outcome, "detail": detail}
