"""Connecting an account: from the code that a person brought to tokens that are stored (P6)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from temporalio.client import Client

from activities.looking_after import look_after_post
from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.runtime.dependencies import Dependencies
from fascicle.sites.deviantart_oauth import SITE, DeviantArtOAuth, Invitation, Person, TokenPair
from fascicle.storage import account as accounts
from fascicle.storage import post_queue
from fascicle.storage.database import transaction
from starter.output import print_note

T = TypeVar("T")
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
    dependencies: Dependencies, invitation: Invitation, code: str, *, user_id: str | None, name: str | None
) -> Connected:
    """Exchange the code and store the account; one that was there is no longer paused.

    `name` is what a person says the account is called, for want of a word from the site.
    """
    oauth = dependencies.oauth
    pair = await _in_turn(lambda: oauth.exchange(code, invitation))
    try:
        person = await _whose(dependencies, pair, name)
        return await _store(dependencies, pair, person, user_id)
    except FascicleError:
        await _give_back(oauth, pair)
        raise


async def _whose(dependencies: Dependencies, pair: TokenPair, name: str | None) -> Person:
    try:
        return await patiently(lambda: dependencies.oauth.whoami(pair.access_token))
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


async def _give_back(oauth: DeviantArtOAuth, pair: TokenPair) -> None:
    """Tokens that nobody keeps should be good for nothing."""
    try:
        await _in_turn(lambda: oauth.revoke(pair.refresh_token or pair.access_token))
    except FascicleError as error:
        print_note(f"What was allowed could not be taken back ({error.message}): see DeviantArt's settings.")


async def wake_posts(dependencies: Dependencies, client: Client, account_id: str) -> int:
    """What waited for the account looks again at once; how many that were."""
    woken, last = 0, ""
    while True:
        async with transaction(dependencies.engine) as connection:
            page = await post_queue.unfinished(connection, account_id=account_id, after=last)
        if not page:
            return woken
        last = page[-1]["id"]
        for post in page:
            await look_after_post(client, post["id"], title=post["title"], account_id=account_id)
        woken += len(page)


async def _in_turn(call: Callable[[], Awaitable[T]]) -> T:
    """Wait for our own gate only: a code is good for one use, so nothing that was sent is sent again."""
    while True:
        try:
            return await call()
        except MustWait as wait:
            if wait.refused or wait.seconds > _LONGEST_WAIT:
                raise
            await _sleep(wait)


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """A read that a person waits for."""
    for _ in range(_READ_ATTEMPTS - 1):
        try:
            return await call()
        except MustWait as wait:
            if wait.seconds > _LONGEST_WAIT:
                raise
            await _sleep(wait)
        except RetryableError:
            await asyncio.sleep(_READ_PAUSE_SECONDS)
    return await call()


async def _sleep(wait: MustWait) -> None:
    print_note(f"{wait.message}; going on in {wait.seconds:.0f} s")
    await asyncio.sleep(wait.seconds)
