"""Connecting an account: from the code that a person brought to tokens that are stored (P6)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from temporalio.client import Client

from activities.looking_after import look_after_post
from fascicle.domain.errors import MustWait, RetryableError
from fascicle.runtime.dependencies import Dependencies
from fascicle.sites.deviantart_oauth import SITE, Invitation
from fascicle.storage import account as accounts
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
    dependencies: Dependencies, invitation: Invitation, code: str, *, user_id: str | None
) -> Connected:
    """Exchange the code and store the account; one that was there is no longer paused."""
    oauth = dependencies.oauth
    pair = await _in_turn(lambda: oauth.exchange(code, invitation))
    person = await _patiently(lambda: oauth.whoami(pair.access_token))
    async with transaction(dependencies.engine) as connection:
        account_id, created = await accounts.claim(
            connection, site=SITE, site_user_id=person.site_user_id, name=person.name, user_id=user_id
        )
        sealed = await dependencies.tokens.seal(account_id, pair)
        generation = await accounts.connect(connection, account_id, sealed)
    return Connected(account_id, person.name, created, generation)


async def wake_posts(dependencies: Dependencies, client: Client, account_id: str) -> int:
    """What waited for the account looks again at once; how many that were."""
    async with transaction(dependencies.engine) as connection:
        waiting = await accounts.unfinished_posts(connection, account_id)
    for post_id, title in waiting:
        await look_after_post(client, post_id, title=title, account_id=account_id)
    return len(waiting)


async def _in_turn(call: Callable[[], Awaitable[T]]) -> T:
    """Wait for our own gate only: a code is good for one use, so nothing that was sent is sent again."""
    while True:
        try:
            return await call()
        except MustWait as wait:
            if wait.refused or wait.seconds > _LONGEST_WAIT:
                raise
            await _sleep(wait)


async def _patiently(call: Callable[[], Awaitable[T]]) -> T:
    """A read, whose failure would waste the code."""
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
