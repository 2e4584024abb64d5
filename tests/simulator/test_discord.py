from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from simulator.client import SimulatorControl
from simulator.discord.chat import pings
from simulator.discord.records import APPLICATION_ID, BOT_TOKEN
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.simulator.conftest import client

BOT = {"Authorization": f"Bot {BOT_TOKEN}"}
REPLY = f"/webhooks/{APPLICATION_ID}/tok/messages/@original"


@pytest.fixture
def api(simulator: RunningSimulator) -> Iterator[httpx.Client]:
    with client(simulator.site_url("discord")) as http:
        yield http


@pytest.fixture
async def remote(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    async with SimulatorControl(simulator.url) as control:
        yield control


async def test_a_reply_shows_its_last_edit_and_the_log_every_one(
    api: httpx.Client, remote: SimulatorControl
) -> None:
    await remote.discord.add_interaction("tok")
    for content in ("first", "second"):
        assert api.patch(REPLY, json={"content": content}).status_code == 200
    more = api.post(f"/webhooks/{APPLICATION_ID}/tok", json={"content": "more"})
    assert more.json()["content"] == "more"
    (interaction,) = await remote.discord.interactions()
    assert (interaction.shown, interaction.follow_ups) == ("second", ["more"])
    assert [(call.kind, call.content) for call in await remote.discord.calls()] == [
        ("edit", "first"),
        ("edit", "second"),
        ("follow_up", "more"),
    ]


@pytest.mark.parametrize(
    ("path", "payload", "refused"),
    [
        (REPLY.replace("tok", "other"), {"content": "x"}, (404, 10015)),
        (REPLY.replace(APPLICATION_ID, "5"), {"content": "x"}, (404, 10015)),
        (REPLY.replace("tok", "old"), {"content": "x"}, (401, 50027)),
        (REPLY, {"content": ""}, (400, 50035)),
        (REPLY, {"content": "x" * 2001}, (400, 50035)),
        (REPLY, {}, (400, 50035)),
    ],
)
def test_edits_that_are_refused(
    simulator: RunningSimulator, api: httpx.Client, path: str, payload: Any, refused: tuple[int, int]
) -> None:
    simulator.discord.add_interaction("tok")
    simulator.discord.add_interaction("old", seconds=0)
    answer = api.patch(path, json=payload)
    assert (answer.status_code, answer.json()["code"]) == refused
    assert [call.status for call in simulator.discord.calls("edit")] == [refused[0]]


@pytest.mark.parametrize(
    ("channel", "headers", "status"),
    [
        ("7", BOT, 200),
        ("7", {}, 401),
        ("7", {"Authorization": "Bot no"}, 401),
        ("8", BOT, 403),
        ("9", BOT, 404),
    ],
)
def test_who_may_write_where(
    simulator: RunningSimulator, api: httpx.Client, channel: str, headers: dict[str, str], status: int
) -> None:
    simulator.discord.add_channel("7")
    simulator.discord.add_channel("8", forbidden=True)
    answer = api.post(f"/channels/{channel}/messages", json={"content": "x"}, headers=headers)
    assert answer.status_code == status
    assert len(simulator.discord.messages(channel)) == (status == 200)


async def test_an_enforced_nonce_makes_one_message_of_two_calls(
    api: httpx.Client, remote: SimulatorControl
) -> None:
    await remote.discord.add_channel("7")
    payload = {"content": "once", "nonce": "n1", "enforce_nonce": True}
    ids = {api.post("/channels/7/messages", json=payload, headers=BOT).json()["id"] for _ in range(2)}
    assert len(ids) == len(await remote.discord.messages("7")) == 1
    api.post("/channels/7/messages", json={**payload, "enforce_nonce": False}, headers=BOT)
    assert len(await remote.discord.messages("7")) == 2


async def test_commands_are_replaced_as_a_whole(api: httpx.Client, remote: SimulatorControl) -> None:
    path = f"/applications/{APPLICATION_ID}"
    for name in ("old", "new"):
        command = {"name": name, "description": "d"}
        assert api.put(f"{path}/commands", json=[command], headers=BOT).status_code == 200
    assert [command["name"] for command in await remote.discord.commands()] == ["new"]
    assert await remote.discord.commands(guild="5") == []
    guilds = f"{path}/guilds/5/commands"
    assert api.put(guilds, json=[{"name": "Bad Name", "description": "d"}], headers=BOT).status_code == 400
    assert api.put(guilds, json=[], headers={}).status_code == 401


def test_too_often_is_said_as_discord_says_it(simulator: RunningSimulator, api: httpx.Client) -> None:
    simulator.faults.add(Fault(path="/discord/", status=429, retry_after="0.25", count=1))
    answer = api.patch(REPLY, json={"content": "x"})
    assert (answer.status_code, answer.json()["retry_after"], answer.headers["retry-after"]) == (
        429,
        0.25,
        "0.25",
    )


def test_the_request_log_keeps_no_token(simulator: RunningSimulator, api: httpx.Client) -> None:
    api.patch(REPLY, json={"content": "x"})
    (entry,) = simulator.requests.matching("/discord/")
    assert entry.path == f"/discord/webhooks/{APPLICATION_ID}/***/messages/@original"


@pytest.mark.parametrize(
    ("allowed", "notified"),
    [
        (None, ["@everyone", "<@5>", "<@&6>"]),
        ({"parse": []}, []),
        ({"parse": [], "users": ["5"]}, ["<@5>"]),
        ({"parse": ["everyone", "roles"]}, ["@everyone", "<@&6>"]),
    ],
)
def test_whom_a_message_notifies(allowed: dict[str, Any] | None, notified: list[str]) -> None:
    content = {"content": "@everyone <@5> <@&6>"}
    assert pings(content if allowed is None else {**content, "allowed_mentions": allowed}) == notified
