"""Sending pending mail (P6): the intent is committed before a mail leaves, so that none is sent twice."""

import random

from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio import activity

from activities.heartbeat import heartbeating
from fascicle.domain.backoff import backoff_seconds
from fascicle.domain.errors import PermanentError
from fascicle.jobs.notifications import DeliverMailResult
from fascicle.services.notifications.mailer import routes
from fascicle.services.notifications.message import Message
from fascicle.services.notifications.notifier import Notifier, Sent
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.notifications import mail as mails
from fascicle.storage.notifications.mail import ClaimedMail
from fascicle.storage.operations.vault import Vault

_ATTEMPTS = 5
_MAILS_PER_ROUND = 200
# Factor for the retry delay: a mail server is down for minutes rather than seconds.
_PATIENCE = 12
_NOT_CONFIGURED = (
    "no mail configured: set FASCICLE_MAIL_URL or FASCICLE_SMTP_HOST, or give the owner a channel"
)


class MailActivities:
    def __init__(self, engine: AsyncEngine, notifier: Notifier, vault: Vault, settings: Settings) -> None:
        self._engine = engine
        self._notifier = notifier
        self._vault = vault
        self._settings = settings

    @activity.defn
    async def deliver_mail(self) -> DeliverMailResult:
        """Send the mail that is due, up to the limit of one round."""
        outcomes: list[str] = []
        async with heartbeating():
            async with transaction(self._engine) as connection:
                outcomes += ["unconfirmed"] * await mails.doubt_interrupted(connection)
            for _ in range(_MAILS_PER_ROUND):
                outcome = await self._send_next()
                if outcome is None:
                    break
                outcomes.append(outcome)
            async with transaction(self._engine) as connection:
                next_round = await mails.seconds_until_next(connection)
        return DeliverMailResult(
            sent=outcomes.count("sent"),
            failed=outcomes.count("failed"),
            unconfirmed=outcomes.count("unconfirmed"),
            next_attempt_seconds=next_round,
        )

    async def _send_next(self) -> str | None:
        """Send the next mail and return its new state; None: no mail is due, or the worker shuts down."""
        async with self._notifier.slots:
            # On shutdown send nothing new; pending mail stays for the next worker.
            if activity.is_worker_shutdown():
                return None
            async with transaction(self._engine) as connection:
                mail = await mails.claim_next(connection)
            if mail is None:
                return None
            sent = await self._send(mail)
        state = _state_after(sent, mail.attempts)
        base = self._settings.retry_base_seconds * _PATIENCE
        wait = backoff_seconds(mail.attempts, base, random.uniform(-1, 1))  # noqa: S311
        async with transaction(self._engine) as connection:
            await mails.settle(connection, mail.id, state, error=sent.error, retry_seconds=wait)
        return state

    async def _send(self, mail: ClaimedMail) -> Sent:
        """Send by the first route that accepts the mail; after an unclear outcome, try no other route."""
        channels, unreadable = await self._opened(mail)
        sent = Sent(False, error=unreadable or _NOT_CONFIGURED)
        for route in routes(self._settings, mail.email, channels):
            message = Message(title=mail.subject, body=mail.body)
            sent = await self._notifier.send(route.url, message, trusted=route.trusted)
            if sent.ok or not sent.certain:
                break
        return sent

    async def _opened(self, mail: ClaimedMail) -> tuple[list[str], str | None]:
        """The owner's channels that can be decrypted, and the error of the others."""
        urls, why = [], None
        for address in mail.addresses:
            try:
                urls.append(await address.opened(self._vault))
            except PermanentError as error:
                why = error.message
        return urls, why


def _state_after(sent: Sent, attempts: int) -> str:
    if sent.ok:
        return "sent"
    if not sent.certain:
        return "unconfirmed"
    return "failed" if attempts >= _ATTEMPTS or sent.error == _NOT_CONFIGURED else "pending"
