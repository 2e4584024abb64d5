"""`fascicle account …` (P6): connecting, looking, checking, and the keys of the tokens."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from fascicle.domain.errors import PermanentError, UsageError
from fascicle.embedded import DataFolder
from starter.context import demo_folder, effective_settings
from starter.publishing.oauth_browser import read_return
from tests.starter.commandline import FASCICLE, Outcome
from tests.starter.conftest import Running

ACCOUNT_FIELDS = {
    "id", "name", "user", "state", "why", "gate_delay_seconds", "circuit", "circuit_until", "generation",
    "access_days_left", "refresh_days_left", "posts_waiting",
}  # fmt: skip


# Follows redirects like any browser; nobody has to press a button in it.
BROWSER = f"{sys.executable} -I -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()' %s"


def connect(running: Running, *options: str, act: Callable[[str], str | None]) -> Outcome:
    """`account connect`; `act` gets the address it prints, and says what is typed then."""
    command = subprocess.Popen(
        [FASCICLE, "account", "connect", "--json", *options],
        cwd=running.desk.folder, env=running.desk.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert command.stderr
    said = ""
    for line in command.stderr:
        said += line
        if line.startswith("http"):
            break
    assert said, "the command said nothing"
    out, err = command.communicate(act(said.splitlines()[-1]), timeout=30)
    return Outcome(command.returncode, out, said + err)


def approve(address: str, account: str, **more: str) -> httpx.Response:
    """Press the button; where the browser is sent then."""
    pressed = {"account": account, "approve": "1", **more}
    return httpx.get(address, params={**_query(address), **pressed}, trust_env=False)


def visit(address: str) -> httpx.Response:
    return httpx.get(address, trust_env=False)


def connected(running: Running, account: str) -> dict[str, Any]:
    """By a browser that finds its person agreeing."""
    running.simulator.deviantart.tokens.add_account(account, auto_approve=True)
    running.simulator.deviantart.configure(default_account=account)
    outcome = running.fascicle("account", "connect", "--client-port", "0", "--json", BROWSER=BROWSER)
    shown: dict[str, Any] = outcome.json()
    return shown


def listed(running: Running, account_id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(row for row in running.json("account", "list") if row["id"] == account_id)
    return found


def _query(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_p6_an_account_is_connected_in_the_browser_by_its_own_visitor_only(running: Running) -> None:
    pages = []

    def act(address: str) -> None:
        asked = _query(address)
        assert (asked["scope"], asked["code_challenge_method"]) == ("basic user stash publish browse", "S256")
        pages.append(visit(f"{asked['redirect_uri']}?code=stolen&state=guessed"))
        pages.append(visit(approve(address, "ann").headers["location"]))

    outcome = connect(running, "--client-port", "0", "--user", "ann", act=act)
    account = outcome.json()
    assert [page.status_code for page in pages] == [400, 200]
    assert "close this window" in pages[1].text
    assert (account["name"], account["created"], account["generation"]) == ("ann", True, 1)
    row = listed(running, account["id"])
    assert row.keys() >= ACCOUNT_FIELDS
    assert (row["user"], row["state"], row["circuit"], row["posts_waiting"]) == ("ann", "active", "closed", 0)
    assert 89 < row["refresh_days_left"] <= 90
    key_file = running.desk.data / "token-keys"
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    tokens = running.simulator.deviantart.tokens.current("ann")
    assert tokens
    for secret in (tokens.access_token, tokens.refresh_token, key_file.read_text().split()[-1]):
        assert secret not in json.dumps(row) + outcome.said() + running.up.said()


def test_p6_an_account_is_connected_again_by_pasting_and_keeps_its_id(running: Running) -> None:
    first = connected(running, "bea")
    pasted = connect(running, "--paste", act=lambda a: approve(a, "bea").headers["location"] + "\n")
    assert pasted.json() == first | {"created": False, "generation": 2}


STATE = "the-state"


@pytest.mark.parametrize("paste", ["a-code", f"http://x/callback?code=a-code&state={STATE}", "?code=a-code"])
def test_p6_a_code_is_taken_as_it_was_pasted(paste: str) -> None:
    assert read_return(f" {paste}\n").checked_code(STATE, state_required=False) == "a-code"


@pytest.mark.parametrize(
    ("paste", "code"),
    [
        ("http://127.0.0.1/callback?code=x&state=another", "wrong_state"),
        (f"http://127.0.0.1/callback?error=access_denied&state={STATE}", "connect_denied"),
        (f"http://127.0.0.1/callback?state={STATE}", "no_code"),
        ("http://127.0.0.1/", "no_code"),
    ],
)
def test_x7_a_wrong_paste_is_refused(paste: str, code: str) -> None:
    with pytest.raises(PermanentError) as refused:
        read_return(paste).checked_code(STATE, state_required=False)
    assert refused.value.code == code


def test_x7_a_browsers_return_without_the_state_counts_for_nothing() -> None:
    with pytest.raises(UsageError):
        read_return("/callback?code=x").checked_code(STATE, state_required=True)


def test_p6_check_renews_what_has_expired_and_says_what_to_do_about_the_rest(running: Running) -> None:
    account = connected(running, "cleo")
    running.simulator.deviantart.tokens.expire_access("cleo")
    assert running.json("account", "check", "cleo")[0]["outcome"] == "ok"
    assert len(running.simulator.deviantart.refreshes("cleo")) == 1
    running.simulator.deviantart.tokens.revoke_account("cleo")
    refused = running.fascicle("account", "check", account["id"])
    assert refused.code == 1
    assert "fascicle account connect" in refused.said()
    row = listed(running, account["id"])
    assert (row["state"], row["paused_code"]) == ("paused", "refresh_refused")
    assert "cleo is paused" in running.fascicle("status").said()
    assert connected(running, "cleo")["id"] == account["id"]
    assert listed(running, account["id"])["state"] == "active"
    assert running.fascicle("account", "check", "cleo").code == 0


def test_p6_keys_are_rotated_and_a_missing_one_is_named(running: Running) -> None:
    connected(running, "dora")
    old = (running.desk.data / "token-keys").read_text().split()[-1]
    new = running.fascicle("account", "new-key").out.strip()
    both, only = f"{new},{old}", new
    rotated = running.fascicle("account", "rotate-keys", "--json", FASCICLE_TOKEN_KEYS=both).json()
    assert (rotated["key"], rotated["failed"]) == (new.partition(":")[0], 0)
    assert rotated["rotated"] >= 1
    again = running.fascicle("account", "rotate-keys", "--json", FASCICLE_TOKEN_KEYS=only).json()
    assert (again["rotated"], again["failed"], again["unchanged"]) == (0, 0, rotated["rotated"])
    missing = running.fascicle("account", "check", "dora")
    assert missing.code == 1
    assert new.partition(":")[0] in missing.said()
    assert running.fascicle("account", "rotate-keys").code == 1
    back = running.fascicle("account", "rotate-keys", "--json", FASCICLE_TOKEN_KEYS=f"{old},{new}").json()
    assert back["rotated"] == rotated["rotated"]
    assert running.fascicle("account", "check", "dora").code == 0


def test_o5_an_account_gets_an_owner_and_a_user_an_address(running: Running) -> None:
    account = connected(running, "eve")
    running.fascicle("user", "add", "Eve", "--email", "eve@mail.example")
    assert running.fascicle("account", "set", "EVE", "--user", "Eve").code == 0
    assert listed(running, account["id"])["user"] == "Eve"
    assert running.json("user", "set", "Eve", "--email", "none")["email"] is None
    assert running.fascicle("user", "set", "Eve", "--email", "not an address").code == 2
    assert running.fascicle("account", "set", "nobody", "--user", "Eve").code == 2


def test_o6_the_data_folder_is_the_running_stacks_also_if_it_is_the_demo(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FASCICLE_DATA_DIR", str(tmp_path / "data"))
    with DataFolder(demo_folder(tmp_path / "data")) as demo:
        demo.publish({"FASCICLE_DATA_DIR": str(demo.path)})
        assert effective_settings().data_dir == demo.path
