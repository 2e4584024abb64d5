"""Connecting (P6): whose account it is, and the posts that waited for it go on."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from fascicle.domain.errors import PermanentError, RetryableError, UsageError
from fascicle.domain.names import publish_workflow_id
from fascicle.services.publishing.account_connection import Connected, finish_connecting, wake_posts
from fascicle.storage.publishing import account as accounts
from simulator.faults import Fault
from tests.accounts import connect_account
from tests.harness import Harness

WHOAMI = "/deviantart/api/v1/oauth2/user/whoami"
NOT_ALLOWED = Fault(path=WHOAMI, status=403, body='{"error":"insufficient_scope"}')


async def connect(harness: Harness, account: str, *, name: str | None = None) -> Connected:
    """As the person of that account would."""
    invitation = harness.dependencies.oauth.invite("http://127.0.0.1:1/callback")
    approved = httpx.get(f"{invitation.url}&account={account}&approve=1", trust_env=False)
    [code] = parse_qs(urlsplit(approved.headers["location"]).query)["code"]
    return await finish_connecting(harness.dependencies, invitation, code, user_id=None, name=name)


async def test_p6_a_person_names_the_account_where_the_site_does_not(harness: Harness) -> None:
    harness.simulator.faults.add(NOT_ALLOWED)
    first = await connect(harness, "Cleo", name="Cleo")
    assert (first.name, first.created) == ("Cleo", True)
    assert await harness.value("select site_user_id from account") == "cleo"
    assert await connect(harness, "Cleo", name="cleo") == Connected(first.id, "cleo", False, 2)


async def test_p6_an_account_that_was_known_stays_the_same(harness: Harness) -> None:
    known = await connect(harness, "ann", name="ignored")
    harness.simulator.faults.add(NOT_ALLOWED)
    assert await connect(harness, "ann", name="Ann") == Connected(known.id, "Ann", False, 2)


@pytest.mark.parametrize("status", [403, 404])
async def test_x7_without_a_name_it_is_said_how_to_give_one(harness: Harness, status: int) -> None:
    harness.simulator.faults.add(NOT_ALLOWED.model_copy(update={"status": status}))
    with pytest.raises(UsageError, match="--name NAME"):
        await connect(harness, "ann")
    assert await harness.value("select count(*) from account") == 0
    assert harness.simulator.deviantart.tokens.current("ann") is None, "revoked"


async def test_p6_tokens_that_cannot_be_stored_are_given_back(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> int:
        raise RetryableError("database_down", "The database broke off.")

    monkeypatch.setattr(accounts, "connect", broken)
    with pytest.raises(RetryableError):
        await connect(harness, "ann")
    assert harness.simulator.deviantart.tokens.current("ann") is None
    monkeypatch.undo()
    harness.simulator.faults.add(Fault(path="/deviantart/oauth2/revoke", status=500))
    harness.simulator.faults.add(Fault(path=WHOAMI, status=400, body='{"error":"invalid_request"}'))
    with pytest.raises(PermanentError, match="whoami"):
        await connect(harness, "ann")


async def test_p6_posts_that_wait_for_the_account_look_again(harness: Harness) -> None:
    account_id = await connect_account(harness)
    another = await connect_account(harness, "bob")
    states = {"late": "scheduled", "busy": "publishing", "idle": "draft", "out": "published"}
    for post_id, state in states.items():
        await harness.execute(
            """insert into post (id, account_id, title, state, publish_at)
               values (:id, :account, 't', :state, now())""",
            id=post_id,
            account=account_id,
            state=state,
        )
    assert await wake_posts(harness.dependencies, harness.client, account_id) == 2
    assert await wake_posts(harness.dependencies, harness.client, another) == 0
    for post_id in ("late", "busy"):
        described = await harness.client.get_workflow_handle(publish_workflow_id(post_id)).describe()
        assert described.workflow_type == "PublishPostWorkflow"
