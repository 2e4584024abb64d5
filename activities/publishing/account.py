"""Keeping accounts connected (P6): renew tokens of unused accounts, warn before a connection is lost."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.errors import MustWait, PermanentError
from fascicle.process.logs import get_logger
from fascicle.services.publishing.tokens import Tokens
from fascicle.storage.database import transaction
from fascicle.storage.notifications.mail import write_mail
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing.account import Expiring

# Each renewal gives three more months, but its answer might get lost, so do not renew more often than needed.
# An account that publishes renews by itself; an idle one is tried weekly, so that its owner learns early.
_UNUSED_FOR = timedelta(days=7)
_EXPIRES_WITHIN = timedelta(days=30)
_WARN_WITHIN = timedelta(days=7)
_URGENT_SECONDS = 86400.0
_ACCOUNTS_PER_RUN = 300

log = get_logger("fascicle.account")


class DueAccount(BaseModel):
    account_id: str
    generation: int


class DueAccounts(BaseModel):
    accounts: list[DueAccount]


class RenewResult(BaseModel):
    outcome: Literal["renewed", "paused", "failed", "waiting"]
    wait_seconds: float = 0
    reason: str | None = None


class WarnResult(BaseModel):
    warned: int = 0


class AccountActivities:
    def __init__(self, engine: AsyncEngine, tokens: Tokens) -> None:
        self._engine = engine
        self._tokens = tokens

    @activity.defn
    async def list_due_accounts(self) -> DueAccounts:
        async with transaction(self._engine) as connection:
            due = await accounts.due_for_renewal(
                connection, unused_for=_UNUSED_FOR, expires_within=_EXPIRES_WITHIN, limit=_ACCOUNTS_PER_RUN
            )
        return DueAccounts(accounts=[DueAccount(account_id=i, generation=g) for i, g in due])

    @activity.defn
    async def renew_account(self, due: DueAccount) -> RenewResult:
        """Renew one account. The workflow sleeps through waits; permanent errors are results, not retried."""
        async with heartbeating():
            try:
                await self._tokens.renew(due.account_id, generation=due.generation)
            except MustWait as wait:
                return RenewResult(outcome="waiting", wait_seconds=wait.seconds, reason=wait.message)
            except PermanentError as error:
                log.warning("account_not_renewed", account_id=due.account_id, code=error.code)
                outcome: Literal["paused", "failed"] = (
                    "paused" if error.code == "account_paused" else "failed"
                )
                return RenewResult(outcome=outcome, reason=error.message)
        return RenewResult(outcome="renewed")

    @activity.defn
    async def warn_expiring(self) -> WarnResult:
        """Write a mail seven days and one day before the end, once each per token."""
        result = WarnResult()
        async with transaction(self._engine) as connection:
            for account in await accounts.expiring(connection, _WARN_WITHIN):
                urgent = account.seconds_left < _URGENT_SECONDS
                result.warned += await write_mail(
                    connection,
                    account_id=account.id,
                    kind="token_expiring",
                    dedup_key=f"token-expiring:{account.id}:{account.generation}:{'1d' if urgent else '7d'}",
                    subject=_subject(account, urgent=urgent),
                    body=_body(account),
                )
        return result


def _subject(account: Expiring, *, urgent: bool) -> str:
    if urgent:
        return f"URGENT: Fascicle loses access to {account.name} within a day"
    return f"Fascicle loses access to {account.name} in {account.seconds_left / 86400:.0f} days"


def _body(account: Expiring) -> str:
    return (
        f"The connection to {account.name} ends at {account.refresh_expires_at:%Y-%m-%d %H:%M} UTC and could "
        "not be renewed so far. It is tried again until then. To be safe, connect the account again:\n\n"
        "    fascicle account connect\n\n`fascicle account check` says what is wrong."
    )
