"""`fascicle discord register` (F8): what is sent, and what is missing when it cannot be."""

import pytest

from simulator.discord.records import APPLICATION_ID, BOT_TOKEN
from simulator.server import RunningSimulator
from tests.starter.conftest import Desk

GUILD = "1140000000000000009"


@pytest.fixture
def env(simulator: RunningSimulator) -> dict[str, str]:
    return {
        "FASCICLE_ALLOW_HOSTS": "127.0.0.1",
        "FASCICLE_DISCORD_URL": simulator.site_url("discord"),
        "FASCICLE_DISCORD_APPLICATION_ID": APPLICATION_ID,
        "FASCICLE_DISCORD_BOT_TOKEN": BOT_TOKEN,
    }


@pytest.mark.parametrize(("options", "guild"), [((), None), (("--guild", GUILD), GUILD)])
def test_f8_commands_are_registered_as_they_are_printed(
    desk: Desk, simulator: RunningSimulator, env: dict[str, str], options: tuple[str, ...], guild: str | None
) -> None:
    printed = desk.fascicle("discord", "register", "--print").json()
    assert simulator.discord.calls() == []
    outcome = desk.fascicle("discord", "register", *options, **env)
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 commands registered" in outcome.out
    registered = [{**command, "id": None} for command in simulator.discord.commands(guild)]
    assert registered == [{**command, "id": None} for command in printed]


@pytest.mark.parametrize(
    ("options", "changes", "code", "words"),
    [
        (
            (),
            {"FASCICLE_DISCORD_BOT_TOKEN": "", "FASCICLE_DISCORD_APPLICATION_ID": ""},
            2,
            "Set FASCICLE_DISCORD_APPLICATION_ID and FASCICLE_DISCORD_BOT_TOKEN first",
        ),
        ((), {"FASCICLE_DISCORD_BOT_TOKEN": ""}, 2, "Set FASCICLE_DISCORD_BOT_TOKEN first"),
        ((), {"FASCICLE_DISCORD_APPLICATION_ID": "my app"}, 2, "FASCICLE_DISCORD_APPLICATION_ID: Discord's"),
        (("--guild", "../x"), {}, 2, "--guild: Discord's ids are numbers"),
        ((), {"FASCICLE_DISCORD_BOT_TOKEN": "wrong-one"}, 1, "check FASCICLE_DISCORD_BOT_TOKEN"),
        ((), {"FASCICLE_DISCORD_URL": "http://127.0.0.1:9/api"}, 1, "check FASCICLE_DISCORD_URL"),
    ],
)
def test_what_is_missing_is_named(
    desk: Desk, env: dict[str, str], options: tuple[str, ...], changes: dict[str, str], code: int, words: str
) -> None:
    outcome = desk.fascicle("discord", "register", *options, **(env | changes))
    assert outcome.code == code, outcome
    assert words in outcome.said()
    assert "wrong-one" not in outcome.said()
