"""One valid token per account, renewed by one writer at a time (P6)."""

import asyncio
from typing import Any

import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.services.dependencies import build_vault
from fascicle.services.publishing.tokens import Tokens
from fascicle.sites.deviantart.oauth import TokenPair
from fascicle.storage.database import transaction
from fascicle.storage.publishing import account as accounts
from tests.harness import Harness


class Site:
    """DeviantArt's rule: a refresh token is good for one use. `lost`: how the answer to that use is lost."""

    def __init__(self) -> None:
        self.good = "refresh-0"
        self.refreshes = 0
        self.lost: FascicleError | None = None
        self.answers = asyncio.Event()
        self.answers.set()

    async def refresh(self, account_id: str, refresh_token: str) -> TokenPair:
        self.refreshes += 1
        if refresh_token != self.good:
            raise PermanentError("refresh_refused", "DeviantArt no longer accepts the refresh token.")
        self.good = f"refresh-{self.refreshes}"
        await asyncio.sleep(0.05)
        await self.answers.wait()
        if self.lost is not None:
            raise self.lost
        return TokenPair(f"access-{self.refreshes}", self.good, 3600)


class Accounts:
    """An account in the database, and as many processes that use it as a test needs."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.site = Site()
        self.tokens = self.process()
        self.id = ""

    def process(self) -> Tokens:
        vault = build_vault(self.harness.dependencies.settings)
        return Tokens(self.harness.dependencies.engine, vault, self.site)  # type: ignore[arg-type]

    async def connect(self, *, access_seconds: float = 3600) -> None:
        pair = TokenPair("access-0", self.site.good, access_seconds)
        async with transaction(self.harness.dependencies.engine) as connection:
            self.id, _ = await accounts.claim(
                connection, site="deviantart", site_user_id="u1", name="Ann", user_id=None
            )
            await accounts.connect(connection, self.id, await self.tokens.seal(self.id, pair))

    async def expire(self) -> None:
        await self.harness.execute("update account set access_expires_at = now() + interval '4 minutes'")

    async def row(self) -> dict[str, Any]:
        return (await self.harness.rows("select * from account"))[0]

    async def mails(self) -> list[str]:
        return [row["dedup_key"] for row in await self.harness.rows("select dedup_key from mail order by id")]


@pytest.fixture
async def account(harness: Harness) -> Accounts:
    made = Accounts(harness)
    await made.connect()
    return made


async def test_p6_a_good_token_costs_no_request(account: Accounts) -> None:
    assert await account.tokens.bearer(account.id) == "access-0"
    assert account.site.refreshes == 0


async def test_p6_twenty_callers_of_two_processes_refresh_once(account: Accounts) -> None:
    await account.expire()
    processes = [account.tokens, account.process()]
    bearers = [processes[n % 2].bearer(account.id) for n in range(20)]
    assert set(await asyncio.gather(*bearers)) == {"access-1"}
    row = await account.row()
    assert (account.site.refreshes, row["generation"], row["paused_at"]) == (1, 2, None)


async def test_p6_a_refused_token_is_renewed_once_for_all_who_met_the_refusal(account: Accounts) -> None:
    refused = [account.tokens.bearer(account.id, refused="access-0") for _ in range(5)]
    assert set(await asyncio.gather(*refused)) == {"access-1"}
    assert account.site.refreshes == 1


async def test_p6_a_cancelled_caller_does_not_lose_the_new_pair(account: Accounts) -> None:
    await account.expire()
    account.site.answers.clear()
    caller = asyncio.create_task(account.tokens.bearer(account.id))
    while account.site.refreshes == 0:
        await asyncio.sleep(0.01)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    account.site.answers.set()
    await account.tokens.aclose()
    assert await account.process().bearer(account.id) == "access-1"
    assert account.site.refreshes == 1


async def test_x1_a_database_that_breaks_off_after_the_answer_does_not_cost_the_token(
    account: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    await account.expire()
    store, breaks = accounts.store_pair, [True]

    async def break_once(*arguments: Any, **named: Any) -> bool:
        if breaks:
            breaks.pop()
            raise RetryableError("database_down", "The database broke off.")
        return await store(*arguments, **named)

    monkeypatch.setattr(accounts, "store_pair", break_once)
    assert await account.tokens.bearer(account.id) == "access-1"
    assert (await account.row())["generation"] == 2
    assert await account.process().bearer(account.id) == "access-1"


async def test_p6_a_lost_answer_pauses_nothing_until_the_token_proves_used_up(account: Accounts) -> None:
    await account.expire()
    before = await account.row()
    account.site.lost = RetryableError("timeout", "took longer than allowed")
    with pytest.raises(RetryableError):
        await account.tokens.bearer(account.id)
    assert await account.row() == before
    assert await account.mails() == []
    account.site.lost = None
    with pytest.raises(PermanentError) as refused:
        await account.tokens.bearer(account.id)
    assert refused.value.code == "account_paused"
    assert len(await account.mails()) == 1


async def test_p6_a_final_refusal_pauses_once_and_mails_once(account: Accounts) -> None:
    await account.expire()
    account.site.good = "another"
    asked = [account.tokens.bearer(account.id) for _ in range(5)] + [account.process().bearer(account.id)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert {getattr(outcome, "code", None) for outcome in outcomes} == {"account_paused"}
    assert "fascicle account connect" in str(outcomes[0])
    row = await account.row()
    assert (row["paused_code"], account.site.refreshes) == ("refresh_refused", 1)
    assert await account.mails() == [f"account-paused:{account.id}:1"]


async def test_p6_connecting_again_ends_the_pause_with_a_new_generation(account: Accounts) -> None:
    await account.expire()
    account.site.good = "another"
    with pytest.raises(PermanentError):
        await account.tokens.bearer(account.id)
    first = account.id
    await account.connect()
    row = await account.row()
    assert (account.id, row["generation"], row["paused_at"], row["paused_reason"]) == (first, 2, None, None)
    assert await account.tokens.bearer(account.id) == "access-0"


@pytest.mark.parametrize("code", ["client_refused", "no_token_given"])
async def test_p6_what_is_not_the_tokens_fault_does_not_pause(account: Accounts, code: str) -> None:
    await account.expire()
    account.site.lost = PermanentError(code, "our application's fault")
    with pytest.raises(PermanentError) as refused:
        await account.tokens.bearer(account.id)
    assert refused.value.code == code
    assert (await account.row())["paused_at"] is None


async def test_p6_a_token_that_cannot_be_decrypted_is_an_error_and_no_pause(account: Accounts) -> None:
    await account.harness.execute("update account set access_token = refresh_token")
    with pytest.raises(PermanentError) as refused:
        await account.tokens.bearer(account.id)
    assert refused.value.code == "cannot_decrypt"
    await account.expire()
    await account.harness.execute("update account set refresh_token = 'v1.gone.AAAA'")
    with pytest.raises(PermanentError) as missing:
        await account.tokens.bearer(account.id)
    assert missing.value.code == "key_unknown"
    assert ((await account.row())["paused_at"], account.site.refreshes) == (None, 0)


async def test_p6_a_renewal_is_skipped_where_somebody_was_faster(account: Accounts) -> None:
    await asyncio.gather(*(account.tokens.renew(account.id, generation=1) for _ in range(3)))
    assert (account.site.refreshes, (await account.row())["generation"]) == (1, 2)


async def test_x2_a_renewal_elsewhere_that_takes_long_is_a_wait_and_no_failure(
    account: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "_LOCK_WAIT", "50ms")
    await account.expire()
    async with transaction(account.harness.dependencies.engine) as elsewhere:
        await accounts.locked_tokens(elsewhere, account.id)
        with pytest.raises(MustWait) as told:
            await account.tokens.bearer(account.id)
    assert (told.value.code, told.value.seconds, told.value.refused) == ("refresh_under_way", 5, False)
    assert account.site.refreshes == 0


async def test_p6_posts_can_be_written_while_a_token_is_renewed(account: Accounts) -> None:
    await account.expire()
    account.site.answers.clear()
    caller = asyncio.create_task(account.tokens.bearer(account.id))
    while account.site.refreshes == 0:
        await asyncio.sleep(0.01)
    async with asyncio.timeout(3):
        await account.harness.execute("insert into post (account_id, title) values (:id, 'x')", id=account.id)
    account.site.answers.set()
    assert await caller == "access-1"


async def test_x5_no_token_is_readable_in_the_database(account: Accounts) -> None:
    await account.expire()
    await account.tokens.bearer(account.id)
    for value in (await account.row()).values():
        assert "access-1" not in str(value)
        assert "refresh-1" not in str(value)
