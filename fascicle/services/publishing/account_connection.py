"""Connecting an account: exchanges the code that a person obtained for tokens and stores them (P6)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from temporalio.client import Client

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.jobs.publishing import post_job
from fascicle.services.dependencies import Dependencies
from fascicle.sites.deviantart.oauth import SITE, DeviantArtOAuth, Invitation, Person, TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from fascicle.storage.publishing import post_queue
from fascicle.temporal.workflow_start import start_job

T = TypeVar("T")
Say = Callable[[str], None]
_LONGEST_WAIT = 120.0
_READ_ATTEMPTS = 4
_READ_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Connected:
    id: str
    name: str
    created: bool
    generation: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def finish_connecting(
    dependencies: Dependencies,
    invitation: Invitation,
    code: str,
    *,
    user_id: str | None,
    name: str | None,
    say: Say = lambda text: None,
) -> Connected:
    """Exchange the code and store the account; a known account is no longer paused.

    `name` is used if the site does not say whose account it is.
    """
    oauth = dependencies.oauth
    pair = await _in_turn(lambda: oauth.exchange(code, invitation), say)
    try:
        person = await _whose(dependencies, pair, name, say)
        return await _store(dependencies, pair, person, user_id)
    except FascicleError:
        await _give_back(oauth, pair, say)
        raise


async def _whose(dependencies: Dependencies, pair: TokenPair, name: str | None, say: Say) -> Person:
    try:
        return await patiently(lambda: dependencies.oauth.whoami(pair.access_token), say)
    except PermanentError as error:
        if error.code != "whoami_refused":
            raise
        if not name:
            raise UsageError(
                "name_needed",
                f"DeviantArt does not say whose account this is ({error.message}). Connect again and say so: "
                "fascicle account connect --name NAME",
            ) from error
    async with transaction(dependencies.engine) as connection:
        known = await accounts.site_user_id(connection, SITE, name)
    return Person(known or name.lower(), name)


async def _store(
    dependencies: Dependencies, pair: TokenPair, person: Person, user_id: str | None
) -> Connected:
    async with transaction(dependencies.engine) as connection:
        account_id, created = await accounts.claim(
            connection, site=SITE, site_user_id=person.site_user_id, name=person.name, user_id=user_id
        )
        sealed = await dependencies.tokens.seal(account_id, pair)
        generation = await accounts.connect(connection, account_id, sealed)
    return Connected(account_id, person.name, created, generation)


async def _give_back(oauth: DeviantArtOAuth, pair: TokenPair, say: Say) -> None:
    """Revoke tokens that are not stored."""
    try:
        await _in_turn(lambda: oauth.revoke(pair.refresh_token or pair.access_token), say)
    except FascicleError as error:
        say(f"What was allowed could not be taken back ({error.message}): see DeviantArt's settings.")


async def wake_posts(dependencies: Dependencies, client: Client, account_id: str) -> int:
    """Wake the posts that waited for the account; returns their number."""
    woken, last = 0, ""
    while True:
        async with transaction(dependencies.engine) as connection:
            page = await post_queue.unfinished(connection, account_id=account_id, after=last)
        if not page:
            return woken
        last = page[-1]["id"]
        for post in page:
            await start_job(client, post_job(post["id"], title=post["title"], account_id=account_id))
        woken += len(page)


async def _in_turn(call: Callable[[], Awaitable[T]], say: Say) -> T:
    """Wait only for our own gate. A code works once, so a request that was sent is never repeated."""
    while True:
        try:
            return await call()
        except MustWait as wait:
            if wait.refused or wait.seconds > _LONGEST_WAIT:
                raise
            await _sleep(wait, say)


async def patiently(call: Callable[[], Awaitable[T]], say: Say) -> T:
    """Repeat a read a few times, while a person waits for it."""
    for _ in range(_READ_ATTEMPTS - 1):
        try:
            return await call()
        except MustWait as wait:
            if wait.seconds > _LONGEST_WAIT:
                raise
            await _sleep(wait, say)
        except RetryableError:
            await asyncio.sleep(_READ_PAUSE_SECONDS)
    return await call()


async def _sleep(wait: MustWait, say: Say) -> None:
    say(f"{wait.message}; going on in {wait.seconds:.0f} s")
    await asyncio.sleep(wait.seconds)
