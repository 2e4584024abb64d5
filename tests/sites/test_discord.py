import logging
import traceback

import pytest
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError, UsageError
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.sites.discord import Discord
from simulator.discord.records import APPLICATION_ID, BOT_TOKEN
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.sites.conftest import OpenGates

TOKEN = "aW50ZXJhY3Rpb24="


@pytest.fixture
def discord(http: HttpClient, simulator: RunningSimulator) -> Discord:
    simulator.discord.add_interaction(TOKEN)
    simulator.discord.add_channel("7")
    simulator.discord.add_channel("8", forbidden=True)
    return Discord(http, base_url=simulator.site_url("discord"), bot_token=SecretStr(BOT_TOKEN))


async def edit(discord: Discord, content: str = "x", token: str = TOKEN) -> None:
    await discord.edit_reply(APPLICATION_ID, SecretStr(token), content)


async def test_replies_and_messages_say_what_they_are_told(
    discord: Discord, simulator: RunningSimulator
) -> None:
    await edit(discord, "Done: Pie & Salt")
    await discord.follow_up(APPLICATION_ID, SecretStr(TOKEN), "more", ephemeral=True)
    for _ in range(2):
        await discord.post_message("7", "Found", "fic-ao3-work-123456789-round-1-done")
    assert simulator.discord.shown(TOKEN) == "Done: Pie & Salt"
    assert simulator.discord.interactions()[0].follow_ups == ["more"]
    assert [message.content for message in simulator.discord.messages("7")] == ["Found"]


async def test_only_the_person_meant_is_notified_and_long_texts_are_cut(
    discord: Discord, simulator: RunningSimulator
) -> None:
    await edit(discord, "@everyone <@5> <@&6> " + "x" * 3000)
    await discord.post_message("7", "@here <@5>", "n", mention="9")
    edited, posted = simulator.discord.calls()
    assert (len(edited.content or ""), (edited.content or "")[-1], edited.pings) == (2000, "…", [])
    assert (posted.content, posted.pings) == ("<@9> @here <@5>", ["<@9>"])


async def test_commands_are_registered_for_all_or_for_one_guild(
    discord: Discord, simulator: RunningSimulator
) -> None:
    commands = [{"name": "rec", "description": "Fics"}]
    assert await discord.register(APPLICATION_ID, commands) == 1
    assert await discord.register(APPLICATION_ID, [], guild="5") == 0
    assert [command["name"] for command in simulator.discord.commands()] == ["rec"]


@pytest.mark.parametrize(
    ("fault", "family", "code", "seconds"),
    [
        (Fault(status=429, retry_after="0.5"), MustWait, "rate_limited", 0.5),
        (Fault(status=429, body="garbage", retry_after=7), MustWait, "rate_limited", 7.0),
        (Fault(status=403, body="<html>"), MustWait, "blocked", 300.0),
        (Fault(status=503), RetryableError, "server_error", None),
        (Fault(status=400), PermanentError, "bad_request", None),
        (Fault(status=401), PermanentError, "reply_expired", None),
        (Fault(status=404), PermanentError, "reply_expired", None),
        (Fault(kind="reset"), RetryableError, "connection_lost", None),
        (Fault(kind="truncated"), RetryableError, "connection_lost", None),
    ],
)
async def test_x5_what_goes_wrong_is_told_without_the_token(
    discord: Discord,
    simulator: RunningSimulator,
    caplog: pytest.LogCaptureFixture,
    fault: Fault,
    family: type[FascicleError],
    code: str,
    seconds: float | None,
) -> None:
    simulator.faults.add(fault)
    with caplog.at_level(logging.DEBUG, "fascicle"), pytest.raises(family) as raised:
        await edit(discord)
    assert raised.value.code == code
    assert getattr(raised.value, "seconds", None) == seconds
    everything = "".join(traceback.format_exception(raised.value)) + repr(raised.value.record()) + caplog.text
    assert "aW50ZXJhY3Rpb24" not in everything


async def test_x5_a_timeout_is_told_without_the_token(simulator: RunningSimulator) -> None:
    simulator.faults.add(Fault(kind="hold", hold="before"))
    limits = HttpLimits(timeout_seconds=0.1)
    impatient = HttpClient(
        gates=OpenGates(), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=limits
    )
    with pytest.raises(RetryableError, match="did not answer in time") as raised:
        await edit(Discord(impatient, base_url=simulator.site_url("discord")))
    await impatient.aclose()
    assert "aW50ZXJhY3Rpb24" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("channel", "bot_token", "code", "words"),
    [
        ("9", BOT_TOKEN, "not_found", "/setficqueuechannel"),
        ("8", BOT_TOKEN, "auth_failed", "Send Messages"),
        ("7", "wrong", "auth_failed", "FASCICLE_DISCORD_BOT_TOKEN"),
        ("7", None, "wrong_setting", "FASCICLE_DISCORD_BOT_TOKEN"),
    ],
)
async def test_a_channel_that_cannot_be_written_to_says_what_to_do(
    discord: Discord,
    http: HttpClient,
    simulator: RunningSimulator,
    channel: str,
    bot_token: str | None,
    code: str,
    words: str,
) -> None:
    secret = None if bot_token is None else SecretStr(bot_token)
    bot = Discord(http, base_url=simulator.site_url("discord"), bot_token=secret)
    with pytest.raises(PermanentError, match=words) as raised:
        await bot.post_message(channel, "x", "n")
    assert raised.value.code == code
    assert isinstance(raised.value, UsageError) == (bot_token is None)


@pytest.mark.parametrize("status", [403, 404])
async def test_a_refused_registration_names_the_settings(
    discord: Discord, simulator: RunningSimulator, status: int
) -> None:
    simulator.faults.add(Fault(status=status))
    with pytest.raises(PermanentError, match="FASCICLE_DISCORD_APPLICATION_ID"):
        await discord.register(APPLICATION_ID, [])
