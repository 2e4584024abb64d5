"""TokenMaintenanceWorkflow: started by a Schedule; renews accounts' tokens and warns before they expire."""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.publishing.account import (
        AccountActivities,
        DueAccount,
        DueAccounts,
        RenewResult,
        WarnResult,
    )
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import FETCH_QUEUE
    from fascicle.jobs.notifications import mail_job
    from workflows import policies
    from workflows.children import start_child

# An account that must wait longer for its gate is left to the next run.
_PATIENCE_SECONDS = 1800.0
_AT_ONCE = 4


class TokenMaintenanceResult(BaseModel):
    due: int = 0
    renewed: int = 0
    paused: int = 0
    failed: int = 0
    waiting: int = 0
    warned: int = 0


@workflow.defn
class TokenMaintenanceWorkflow:
    @workflow.init
    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_AT_ONCE)

    @workflow.run
    async def run(self) -> TokenMaintenanceResult:
        due = (await self._list_due()).accounts
        outcomes = await asyncio.gather(*(self._renew(account) for account in due))
        warned = await self._warn()
        await start_child(mail_job(), again=True)
        return TokenMaintenanceResult(
            due=len(due),
            renewed=outcomes.count("renewed"),
            paused=outcomes.count("paused"),
            failed=outcomes.count("failed"),
            waiting=outcomes.count("waiting"),
            warned=warned.warned,
        )

    async def _renew(self, account: DueAccount) -> str:
        """Renew one account. A failure becomes a result, so that it does not stop the other accounts."""
        waited = 0.0
        while True:
            try:
                async with self._slots:
                    result = await self._try_to_renew(account)
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                return "failed"
            if result.outcome != "waiting" or waited + result.wait_seconds > _PATIENCE_SECONDS:
                return result.outcome
            wait = max(1.0, result.wait_seconds)
            waited += wait
            summary = f"{account.account_id}: {result.reason or 'waiting for a turn'}"
            await workflow.sleep(timedelta(seconds=wait), summary=for_web_ui(summary))

    async def _list_due(self) -> DueAccounts:
        return await workflow.execute_activity_method(
            AccountActivities.list_due_accounts,
            start_to_close_timeout=timedelta(minutes=1),
            retry_policy=policies.BOOKS,
            summary="accounts whose tokens rest",
        )

    async def _try_to_renew(self, account: DueAccount) -> RenewResult:
        return await workflow.execute_activity_method(
            AccountActivities.renew_account,
            account,
            task_queue=FETCH_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(seconds=15),
            retry_policy=policies.POLL,
            summary=f"renew {account.account_id}",
        )

    async def _warn(self) -> WarnResult:
        return await workflow.execute_activity_method(
            AccountActivities.warn_expiring,
            start_to_close_timeout=timedelta(minutes=1),
            retry_policy=policies.BOOKS,
            summary="warn of what expires",
        )
