import time
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from simulator.deviantart import TokenPair, challenge_of
from simulator.server import RunningSimulator
from tests.simulator.conftest import outcome

API = "/api/v1/oauth2"
VERIFIER = "v" * 43
REDIRECT = "http://127.0.0.1:8000/connected"
AUTHORIZE = {
    "response_type": "code",
    "client_id": "12345",
    "redirect_uri": REDIRECT,
    "scope": "basic stash",
    "state": "s t",
    "code_challenge": challenge_of(VERIFIER),
    "code_challenge_method": "S256",
    "approve": "1",
}
CREDENTIALS = {"client_id": "12345", "client_secret": "simulated-secret"}


def refresh(site: httpx.Client, token: str) -> httpx.Response:
    form = {"grant_type": "refresh_token", "refresh_token": token, **CREDENTIALS}
    return site.post("/oauth2/token", data=form)


def exchange(site: httpx.Client, code: str, **changes: str) -> httpx.Response:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
    return site.post("/oauth2/token", data=form | {"code_verifier": VERIFIER} | CREDENTIALS | changes)


def approved_code(site: httpx.Client, **changes: str) -> str:
    answer = site.get("/oauth2/authorize", params=AUTHORIZE | changes)
    return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]


def test_an_approval_is_exchanged_once(simulator: RunningSimulator, site: httpx.Client) -> None:
    answer = site.get("/oauth2/authorize", params=AUTHORIZE | {"account": "bob"})
    assert answer.status_code == 302
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(REDIRECT)
    assert back["state"] == ["s t"]
    first = exchange(site, back["code"][0])
    assert first.json().keys() == {
        "status",
        "access_token",
        "token_type",
        "expires_in",
        "refresh_token",
        "scope",
    }
    assert (first.json()["expires_in"], first.json()["scope"]) == (3600, "basic stash")
    assert outcome(exchange(site, back["code"][0])) == (400, "invalid_request", None)
    site.headers["Authorization"] = f"Bearer {first.json()['access_token']}"
    whoami = site.get(f"{API}/user/whoami").json()
    assert whoami["username"] == "bob"
    assert whoami["userid"] == simulator.deviantart.account("bob").userid


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"code_verifier": "w" * 43}, 400),
        ({"redirect_uri": REDIRECT + "/"}, 400),
        ({"client_secret": "wrong"}, 401),
        ({"grant_type": "password"}, 400),
    ],
)
def test_what_does_not_fit_the_approval_gets_no_token(
    site: httpx.Client, changes: dict[str, str], status: int
) -> None:
    assert exchange(site, approved_code(site), **changes).status_code == status


def test_a_code_is_spent_by_a_wrong_verifier(site: httpx.Client) -> None:
    code = approved_code(site)
    exchange(site, code, code_verifier="w" * 43)
    assert exchange(site, code).status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "9"},
        {"redirect_uri": ""},
        {"response_type": "token"},
        {"code_challenge_method": "plain"},
        {"code_challenge": ""},
    ],
)
def test_approvals_that_cannot_be_asked_for(site: httpx.Client, changes: dict[str, str]) -> None:
    assert site.get("/oauth2/authorize", params=AUTHORIZE | changes).status_code == 400


def test_a_person_is_asked_unless_the_account_approves_by_itself(
    simulator: RunningSimulator, site: httpx.Client
) -> None:
    asked = AUTHORIZE | {"approve": "0", "account": "bob"}
    page = site.get("/oauth2/authorize", params=asked)
    assert (page.status_code, "bob" in page.text) == (200, True)
    denied = site.get("/oauth2/authorize", params=asked | {"deny": "1"})
    assert "error=access_denied" in denied.headers["location"]
    simulator.deviantart.open_account("bob", auto_approve=True)
    assert "code=" in site.get("/oauth2/authorize", params=asked).headers["location"]


def test_a_refresh_token_is_good_for_one_refresh(
    simulator: RunningSimulator, site: httpx.Client, ann: TokenPair
) -> None:
    second = refresh(site, ann.refresh_token).json()
    assert second["refresh_token"] != ann.refresh_token
    again = refresh(site, ann.refresh_token)
    assert outcome(again) == (400, "invalid_request", None)
    assert again.json()["error_description"] == "The refresh_token is invalid."
    assert refresh(site, second["refresh_token"]).status_code == 200
    log = [(r.account, r.succeeded, r.generation) for r in simulator.deviantart.refreshes()]
    assert log == [("ann", True, 1), ("ann", False, 1), ("ann", True, 2)]
    current = simulator.deviantart.tokens.current("ann")
    assert current is not None
    assert current.refresh_token not in (ann.refresh_token, second["refresh_token"])


def test_tokens_expire_and_are_taken_back(
    simulator: RunningSimulator, site: httpx.Client, ann: TokenPair
) -> None:
    tokens = simulator.deviantart.tokens
    assert site.get(f"{API}/placebo").json() == {"status": "success"}
    tokens.expire_access("ann")
    assert outcome(site.get(f"{API}/placebo")) == (401, "invalid_token", None)
    assert refresh(site, ann.refresh_token).status_code == 200
    simulator.deviantart.configure(refresh_seconds=0.001)
    short = tokens.add_account("ann")
    time.sleep(0.002)
    assert refresh(site, short.refresh_token).status_code == 400
    simulator.deviantart.configure(refresh_seconds=60)
    killed = tokens.add_account("ann")
    tokens.revoke_account("ann", refresh_only=True)
    assert refresh(site, killed.refresh_token).status_code == 400
    site.headers["Authorization"] = f"Bearer {killed.access_token}"
    assert site.get(f"{API}/placebo").status_code == 200
    assert site.post("/oauth2/revoke", data={"token": killed.access_token}).json() == {"success": True}
    assert site.get(f"{API}/placebo").status_code == 401


def test_only_a_bearer_header_lets_in(
    site: httpx.Client, ann: TokenPair, simulator: RunningSimulator
) -> None:
    del site.headers["Authorization"]
    for attempt in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": f"Basic {ann.access_token}"}):
        answer = site.get(f"{API}/placebo", params={"access_token": ann.access_token}, headers=attempt)
        assert outcome(answer) == (401, "invalid_token", None)
    assert ann.access_token not in repr(simulator.requests.matching())


def test_the_edge_wants_a_user_agent(site: httpx.Client, ann: TokenPair) -> None:
    answer = site.get(f"{API}/placebo", headers={"User-Agent": ""})
    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")


def test_scopes_are_checked(simulator: RunningSimulator, site: httpx.Client) -> None:
    pair = simulator.deviantart.tokens.add_account("ann", scope="stash")
    site.headers["Authorization"] = f"Bearer {pair.access_token}"
    for verb, path in (("GET", "/gallery/all"), ("POST", "/stash/publish"), ("GET", "/user/whoami")):
        assert outcome(site.request(verb, f"{API}{path}")) == (403, "insufficient_scope", None)
