"""Accounts of the simulated DeviantArt, connected without a browser."""

from fascicle.sites.deviantart.oauth import SITE, TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from tests.harness import Harness


async def connect_account(harness: Harness, name: str = "ann", *, user_id: str | None = None) -> str:
    """As `fascicle account connect` leaves it; the account's id. Again: a new pair, the next generation."""
    given = harness.simulator.deviantart.tokens.add_account(name)
    pair = TokenPair(given.access_token, given.refresh_token, given.expires_in)
    async with transaction(harness.dependencies.engine) as connection:
        account_id, _ = await accounts.claim(
            connection, site=SITE, site_user_id=given.userid, name=name, user_id=user_id
        )
        await accounts.connect(
            connection, account_id, await harness.dependencies.tokens.seal(account_id, pair)
        )
    return account_id


async def let_rest(harness: Harness, *, days_left: float = 80) -> None:
    """As if nobody had used the accounts for long."""
    await harness.execute(
        """update account set refreshed_at = now() - interval '8 days', access_expires_at = now(),
           refresh_expires_at = now() + make_interval(secs => :left)""",
        left=days_left * 86400,
    )
