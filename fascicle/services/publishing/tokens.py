"""The tokens of accounts: one valid access token, renewed by one writer at a time (P6).

Refresh tokens rotate and can be used once. So a renewal locks the account's row, the new pair is committed
before it is used, and a caller that is cancelled meanwhile does not interrupt the renewal.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from fascicle.domain.errors import PermanentError, RetryableError
from fascicle.process.logs import get_logger
from fascicle.sites.deviantart.oauth import DeviantArtOAuth, TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.notifications.mail import write_mail
from fascicle.storage.operations.vault import ACCESS, REFRESH, Vault
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing.account import AccountTokens, SealedPair

_STORING_ATTEMPTS = 6
_STORING_PAUSE_SECONDS = 0.5

log = get_logger("fascicle.tokens")


@dataclass(frozen=True)
class _Renewed:
    """The result of a renewal. The secrets are not in its repr, which might be logged."""

    token: str | None = field(default=None, repr=False)
    pair: SealedPair | None = field(default=None, repr=False)
    generation: int = 0
    refused: PermanentError | None = None


class Tokens:
    def __init__(
        self, engine: AsyncEngine, vault: Vault, oauth: DeviantArtOAuth, *, renewals_at_once: int = 4
    ) -> None:
        """Each renewal holds a database connection while it waits for the site, and the gate needs others."""
        self._engine = engine
        self._vault = vault
        self._oauth = oauth
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._slots = asyncio.Semaphore(renewals_at_once)
        self._under_way: set[asyncio.Task[str]] = set()

    async def aclose(self) -> None:
        """Waits for running renewals: the site's answer must not be lost."""
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def bearer(self, account_id: str, *, refused: str | None = None) -> str:
        """An access token that is valid for some minutes; `refused` is a token that just got a 401.

        Do not call it inside a transaction: a renewal needs connections of its own.
        """

        async def usable(found: AccountTokens) -> str | None:
            if not found.fresh or found.access_token is None:
                return None
            token = await self._opened(found.access_token, account_id, ACCESS)
            return None if token == refused else token

        async with transaction(self._engine) as connection:
            found = await accounts.tokens(connection, account_id)
        _check_is_active(found)
        if refused is not None and found.fresh and await usable(found) is None:
            # Commit this before the renewal, which may have to wait: nobody must use this token again.
            async with transaction(self._engine) as connection:
                await accounts.expire_access(connection, account_id, found.generation)
        return await usable(found) or await self._renew_undisturbed(account_id, usable)

    async def renew(self, account_id: str, *, generation: int) -> None:
        """Renew the pair, unless it was renewed since that generation."""

        async def usable(found: AccountTokens) -> str | None:
            return "" if found.generation != generation else None

        await self._renew_undisturbed(account_id, usable)

    async def seal(self, account_id: str, pair: TokenPair) -> SealedPair:
        access = await self._vault.encrypt(pair.access_token, account_id=account_id, kind=ACCESS)
        refresh = pair.refresh_token
        if refresh is not None:
            refresh = await self._vault.encrypt(refresh, account_id=account_id, kind=REFRESH)
        return SealedPair(access, refresh, pair.access_seconds, pair.refresh_seconds)

    async def _opened(self, ciphertext: str, account_id: str, kind: str) -> str:
        return await self._vault.decrypt(ciphertext, account_id=account_id, kind=kind)

    async def _renew_undisturbed(self, account_id: str, usable: "_Usable") -> str:
        renewal = asyncio.create_task(self._renew_in_turn(account_id, usable))
        self._under_way.add(renewal)
        renewal.add_done_callback(self._ended)
        return await asyncio.shield(renewal)

    def _ended(self, renewal: asyncio.Task[str]) -> None:
        self._under_way.discard(renewal)
        if not renewal.cancelled():
            renewal.exception()  # retrieve it, even if the caller is gone, so that asyncio does not warn

    async def _renew_in_turn(self, account_id: str, usable: "_Usable") -> str:
        """Callers in this process queue without connections; the row's lock is for other processes."""
        async with self._turns[account_id], self._slots:
            renewed = _Renewed()
            try:
                async with transaction(self._engine) as connection:
                    found = await accounts.locked_tokens(connection, account_id)
                    _check_is_active(found)
                    token = await usable(found)
                    if token is not None:
                        return token
                    renewed = await self._refresh(connection, found)
                    if renewed.pair is not None:
                        await accounts.store_pair(
                            connection, account_id, renewed.pair, generation=renewed.generation
                        )
            except RetryableError:
                if renewed.pair is None:
                    raise
                await self._store_late(account_id, renewed)
        if renewed.refused is not None:
            raise paused_error(account_id, renewed.refused.message) from renewed.refused
        log.info("token_renewed", account_id=account_id, generation=renewed.generation + 1)
        return renewed.token or ""

    async def _refresh(self, connection: AsyncConnection, found: AccountTokens) -> _Renewed:
        """Ask the site for a new pair; a final refusal pauses the account, in the caller's transaction."""
        if found.refresh_token is None:
            raise PermanentError(
                "no_refresh_token", f"Account {found.name} has no refresh token: fascicle account connect"
            )
        refresh_token = await self._opened(found.refresh_token, found.id, REFRESH)
        # Load the keys before calling the site: a missing key must not waste the refresh token.
        await self._vault.keyring(make=True)
        try:
            pair = await self._oauth.refresh(found.id, refresh_token)
        except PermanentError as error:
            if error.code != "refresh_refused":
                raise
            await pause_and_tell(connection, found, error)
            return _Renewed(refused=error)
        return _Renewed(pair.access_token, await self.seal(found.id, pair), found.generation)

    async def _store_late(self, account_id: str, renewed: _Renewed) -> None:
        """The site gave a pair, but the database failed: retry, as without this pair the account is lost."""
        assert renewed.pair is not None
        for attempt in range(1, _STORING_ATTEMPTS + 1):
            try:
                async with transaction(self._engine) as connection:
                    found = await accounts.locked_tokens(connection, account_id)
                    # Another generation: the first commit succeeded, or the account was connected meanwhile.
                    if found.generation == renewed.generation:
                        await accounts.store_pair(
                            connection, account_id, renewed.pair, generation=renewed.generation
                        )
                return
            except RetryableError as error:
                log.warning("token_not_stored", account_id=account_id, attempt=attempt, error=error.message)
                if attempt == _STORING_ATTEMPTS:
                    raise
                await asyncio.sleep(_STORING_PAUSE_SECONDS * 2**attempt)


_Usable = Callable[[AccountTokens], Awaitable[str | None]]


async def pause_and_tell(connection: AsyncConnection, found: AccountTokens, error: PermanentError) -> None:
    """Pause the account, so that its posts wait, and write a mail to its owner, in one transaction."""
    await accounts.pause(connection, found.id, error.code, error.message)
    await write_mail(
        connection,
        account_id=found.id,
        kind="account_paused",
        dedup_key=f"account-paused:{found.id}:{found.generation}",
        subject=f"Fascicle: {found.name} must be connected again",
        body=f"{error.message}\n\nThe posts of {found.name} wait until the account is connected again:\n\n"
        "    fascicle account connect\n\nNothing is lost; whatever is past due then goes out at once.",
    )
    log.warning("account_paused", account_id=found.id, code=error.code)


def paused_error(account_id: str, reason: str | None) -> PermanentError:
    return PermanentError(
        "account_paused",
        f"Account {account_id} is paused: {reason or 'no reason given'} Reconnect: fascicle account connect",
    )


def _check_is_active(found: AccountTokens) -> None:
    if found.paused:
        raise paused_error(found.id, found.paused_reason)
