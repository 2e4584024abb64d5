"""DeviantArt's OAuth (P6): what each of its answers means, and that none is ever quoted."""

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.domain.gate import GatePolicy, Slot
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.sites.deviantart.oauth import DeviantArtOAuth, Invitation, TokenPair
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.sites.conftest import OpenGates

POLICY = GatePolicy(0)
TOKEN = "/deviantart/oauth2/token"
BACK = "http://127.0.0.1:1/callback"


@pytest.fixture
def oauth(http: HttpClient, simulator: RunningSimulator) -> DeviantArtOAuth:
    return client(http, simulator)


def client(http: HttpClient, simulator: RunningSimulator, **changed: str | None) -> DeviantArtOAuth:
    options = simulator.deviantart.options
    credentials = {"client_id": options.client_id, "client_secret": options.client_secret, **changed}
    return DeviantArtOAuth(http, base_url=simulator.site_url("deviantart"), policy=POLICY, **credentials)


def approved(invitation: Invitation) -> str:
    """The code that a person brings back."""
    answer = httpx.get(f"{invitation.url}&account=ann&approve=1", trust_env=False)
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    assert back["state"] == [invitation.state]
    return back["code"][0]


async def test_p6_a_code_becomes_tokens_and_the_tokens_a_name(
    oauth: DeviantArtOAuth, simulator: RunningSimulator
) -> None:
    invitation = oauth.invite(BACK)
    pair = await oauth.exchange(approved(invitation), invitation)
    person = await oauth.whoami(pair.access_token)
    assert (person.name, person.site_user_id) == ("ann", simulator.deviantart.account("ann").userid)
    assert invitation.verifier not in repr(invitation)
    assert pair.access_token not in repr(pair)


async def test_p6_a_code_is_good_once_and_for_its_asker_only(oauth: DeviantArtOAuth) -> None:
    invitation, another = oauth.invite(BACK), oauth.invite(BACK)
    for asker in (another, invitation):
        with pytest.raises(PermanentError) as refused:
            await oauth.exchange(approved(invitation) if asker is another else "spent", asker)
        assert refused.value.code == "code_refused"


async def test_p6_a_refresh_token_rotates_and_a_used_one_is_refused_for_good(
    oauth: DeviantArtOAuth, simulator: RunningSimulator
) -> None:
    first = simulator.deviantart.tokens.add_account("ann")
    pair = await oauth.refresh("a1", first.refresh_token)
    assert pair == TokenPair(pair.access_token, pair.refresh_token, 3600)
    assert pair.refresh_token != first.refresh_token
    with pytest.raises(PermanentError) as refused:
        await oauth.refresh("a1", first.refresh_token)
    assert refused.value.code == "refresh_refused"


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (Fault(status=429), MustWait, "rate_limited"),
        (Fault(status=403, body='{"error":"unauthorized_client"}'), PermanentError, "client_refused"),
        (Fault(status=503, retry_after=9), RetryableError, "server_error"),
        (Fault(kind="html"), RetryableError, "bad_answer"),
        (Fault(status=403, body="<html>"), MustWait, "blocked"),
        (Fault(status=500), RetryableError, "server_error"),
        (Fault(status=400, body="<html>"), RetryableError, "bad_answer"),
        (Fault(status=302, body=""), RetryableError, "bad_answer"),
        (Fault(kind="half_json"), RetryableError, "bad_answer"),
        (Fault(status=200, body="[]"), RetryableError, "bad_answer"),
        (Fault(status=200, body='{"status":"error"}'), RetryableError, "bad_answer"),
        (Fault(kind="reset"), RetryableError, "connection_lost"),
        (Fault(status=401, body='{"error":"invalid_client"}'), PermanentError, "client_refused"),
        (Fault(status=400, body='{"error":"invalid_client"}'), PermanentError, "client_refused"),
        (Fault(status=400, body='{"error":"invalid_grant"}'), PermanentError, "refresh_refused"),
        (Fault(status=400, body='{"error":"unsupported_grant_type"}'), PermanentError, "no_token_given"),
    ],
)
async def test_p6_only_a_definite_no_is_final(
    oauth: DeviantArtOAuth,
    simulator: RunningSimulator,
    fault: Fault,
    kind: type[FascicleError],
    code: str,
) -> None:
    pair = simulator.deviantart.tokens.add_account("ann")
    simulator.faults.add(fault.model_copy(update={"path": TOKEN}))
    with pytest.raises(kind) as raised:
        await oauth.refresh("a1", pair.refresh_token)
    assert raised.value.code == code
    assert pair.refresh_token not in str(raised.value)


async def test_x5_a_broken_answer_is_not_quoted(oauth: DeviantArtOAuth, simulator: RunningSimulator) -> None:
    pair = simulator.deviantart.tokens.add_account("ann")
    simulator.faults.add(Fault(path=TOKEN, status=200, body='{"access_token":"half-a-token'))
    with pytest.raises(RetryableError) as raised:
        await oauth.refresh("a1", pair.refresh_token)
    assert "half-a-token" not in f"{raised.value} {raised.value.__cause__}"


@pytest.mark.parametrize(
    ("fault", "kind", "code", "seconds"),
    [
        (Fault(status=503, retry_after=7), MustWait, "unavailable", 7),
        (Fault(status=503), RetryableError, "server_error", None),
        (Fault(status=429), MustWait, "rate_limited", 0),
        (Fault(status=400, body='{"error":"user_api_threshold"}'), MustWait, "rate_limited", 0),
        (Fault(status=403, body="<html>"), MustWait, "blocked", 0),
        (Fault(status=403, body='{"error":"insufficient_scope"}'), PermanentError, "whoami_refused", None),
        (Fault(status=404, body="<html>"), PermanentError, "whoami_refused", None),
        (Fault(status=401, body='{"error":"invalid_token"}'), PermanentError, "token_refused", None),
        (Fault(status=200, body='{"userid":""}'), RetryableError, "bad_answer", None),
    ],
)
async def test_p6_a_reader_is_told_what_to_do(
    oauth: DeviantArtOAuth,
    simulator: RunningSimulator,
    fault: Fault,
    kind: type[FascicleError],
    code: str,
    seconds: float | None,
) -> None:
    pair = simulator.deviantart.tokens.add_account("ann")
    simulator.faults.add(fault.model_copy(update={"path": "/deviantart/api/v1/oauth2/user/whoami"}))
    with pytest.raises(kind) as raised:
        await oauth.whoami(pair.access_token)
    assert (raised.value.code, getattr(raised.value, "seconds", None)) == (code, seconds)


async def test_x5_a_description_is_never_quoted(oauth: DeviantArtOAuth, simulator: RunningSimulator) -> None:
    body = '{"error":"invalid_request","error_code":3,"error_description":"what somebody typed"}'
    simulator.faults.add(Fault(path="/deviantart/api/v1/oauth2/user/whoami", status=400, body=body))
    with pytest.raises(PermanentError) as raised:
        await oauth.whoami("any")
    assert raised.value.message.endswith("user/whoami answered 400: invalid_request [3]")


async def test_x7_without_an_application_it_is_said_what_to_set(
    http: HttpClient, simulator: RunningSimulator
) -> None:
    with pytest.raises(UsageError, match="FASCICLE_DEVIANTART_CLIENT_ID"):
        client(http, simulator, client_id=None).invite(BACK)
    wrong = client(http, simulator, client_secret="wrong")
    with pytest.raises(PermanentError, match="FASCICLE_DEVIANTART_CLIENT_SECRET"):
        await wrong.refresh("a1", "x")


async def test_p6_what_was_revoked_is_refused(oauth: DeviantArtOAuth, simulator: RunningSimulator) -> None:
    pair = simulator.deviantart.tokens.add_account("ann")
    await oauth.revoke(pair.refresh_token)
    with pytest.raises(PermanentError) as refused:
        await oauth.whoami(pair.access_token)
    assert refused.value.code == "token_refused"


async def test_x4_what_belongs_to_an_account_passes_its_gate(simulator: RunningSimulator) -> None:
    passed: list[str] = []

    class Watched(OpenGates):
        async def reserve(self, name: str, policy: GatePolicy, *, patience: float) -> Slot:
            passed.append(name)
            return await super().reserve(name, policy, patience=patience)

    http = HttpClient(
        gates=Watched(), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=HttpLimits()
    )
    watched = client(http, simulator)
    pair = simulator.deviantart.tokens.add_account("ann")
    await watched.refresh("a2", pair.refresh_token)
    await watched.whoami(pair.access_token)
    await http.aclose()
    assert passed == ["deviantart:a2", "deviantart"]
