"""Discord's commands (F8): what is let in, what each does, and what people see of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from io import StringIO
from typing import Any

import orjson
import pytest
import structlog

from fascicle.domain.errors import RetryableError, UsageError
from fascicle.domain.fics.fic import Fic, JobState
from fascicle.net.http import HttpClient, HttpLimits
from fascicle.net.ssrf import HostGuard
from fascicle.web import discord as web
from fascicle.web.discord_actions import Deeds
from fascicle.web.discord_commands import DEFINITIONS
from simulator.discord.records import APPLICATION_ID
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.sites.conftest import OpenGates
from tests.web.discord_guild import (
    BY_ROLE,
    CHANNEL,
    MANAGER,
    MEMBER,
    NEXT,
    OWNER,
    TOKEN,
    URL,
    Desk,
    Guild,
    a_view,
    rec,
    set_channel,
    signed,
)


@pytest.fixture(scope="module")
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient(
        gates=OpenGates(), guard=HostGuard(["127.0.0.1"]), user_agent="Test/1", limits=HttpLimits()
    )
    yield client
    await client.aclose()


@pytest.fixture
def guild(http: HttpClient, simulator: RunningSimulator) -> Guild:
    return Guild(http, simulator)


def _headers(**changes: str) -> dict[str, str]:
    return {**signed(b'{"type":1}'), **{f"X-Signature-{name}": value for name, value in changes.items()}}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"X-Signature-Timestamp": str(int(time.time()))}, id="no signature"),
        pytest.param(_headers(Ed25519="00" * 64), id="wrong signature"),
        pytest.param(_headers(Ed25519="zz"), id="no hexadecimal"),
        pytest.param(_headers(Timestamp=str(int(time.time()) + 1)), id="another time"),
        pytest.param(_headers(Timestamp="now"), id="no time"),
        pytest.param(signed(b'{"type":1}', at=time.time() - 400), id="stale"),
        pytest.param(signed(b'{"type":1}', at=time.time() + 40_000), id="from the future"),
        pytest.param(signed(b'{"type":2}'), id="tampered body"),
    ],
)
async def test_what_discord_did_not_sign_just_now_is_refused(guild: Guild, headers: dict[str, str]) -> None:
    answer = await guild.send(b'{"type":1}', headers)
    assert answer.status_code == 401
    assert guild.desk.asked == []


async def test_a_ping_is_a_pong(guild: Guild) -> None:
    answer = await guild.send(b'{"type":1}', signed(b'{"type":1}'))
    assert (answer.status_code, answer.json()) == (200, {"type": 1})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"x" * (256 * 1024 + 1), 413),
        (b"{", 400),
        (b"[]", 400),
        (b'{"type":3}', 400),
        (b'{"type":2}', 400),
        (orjson.dumps(rec("add", member=None, url=URL)), 400),
        (orjson.dumps(rec("add", url=URL) | {"id": "../x"}), 400),
    ],
)
async def test_what_is_no_interaction_is_refused_without_repeating_it(
    guild: Guild, body: bytes, status: int
) -> None:
    answer = await guild.send(body, signed(body))
    assert answer.status_code == status
    assert TOKEN not in answer.text


async def test_f8_the_queue_is_what_waits_and_not_what_is_done(guild: Guild) -> None:
    guild.desk.answer = a_view(JobState.DONE, title="Salt")
    _, shown = await guild.use(rec("queue"))
    assert "The queue is empty" in str(shown)


@pytest.mark.parametrize(
    ("body", "asked", "shown", "private"),
    [
        (
            rec("add", url=f" {URL} ", note="so \0 good", tags="a, ,b c"),
            ("add", URL, "discord:42", "so  good", ["a", "b c"]),
            NEXT,
            False,
        ),
        (rec("add", url=URL), ("add", URL, "discord:42", None, []), NEXT, False),
        (rec("update", url=URL), ("update", URL, "discord:42"), NEXT, False),
        (rec("queue"), ("queue", 10), f"1. {URL}: waiting", True),
        (rec("resetqueue", OWNER), ("reset",), "2 stuck jobs were started again.", True),
        (rec("clearqueue", MANAGER, url=URL), ("clear", URL), "It is out of the queue.", True),
        (
            rec("override", BY_ROLE, url=URL, reason="fits"),
            ("override", URL, "discord:42", "fits"),
            NEXT,
            False,
        ),
        (
            set_channel(CHANNEL),
            ("set_channel", "discord-channel://555"),
            "From now on new fics are told in <#555>.",
            True,
        ),
        (set_channel(), ("set_channel", None), "From now on no channel is told of new fics.", True),
    ],
)
async def test_f8_each_command_is_deferred_and_then_answered(
    guild: Guild, body: dict[str, Any], asked: tuple[Any, ...], shown: str, private: bool
) -> None:
    first, last = await guild.use(body)
    assert first == ({"type": 5, "data": {"flags": 64}} if private else {"type": 5})
    assert (guild.desk.asked, last) == ([asked], shown)


def test_f8_discord_is_told_of_exactly_the_commands_that_are_answered() -> None:
    told = {
        f"{command['name']} {option['name']}" if option["type"] == 1 else command["name"]
        for command in DEFINITIONS
        for option in command["options"]
    }
    assert told == set(Deeds(lambda: Desk(), has_bot=True).by_command())


async def test_f4_the_desk_gets_what_it_needs_to_edit_the_reply_later(guild: Guild) -> None:
    await guild.use(rec("add", url=URL))
    (reply,) = guild.desk.replies
    assert (reply.application_id, reply.channel_id, reply.discord_user_id) == (APPLICATION_ID, "8", "42")
    assert reply.token.get_secret_value() == TOKEN
    assert abs(reply.received_at.timestamp() - time.time()) < 60


async def test_in_a_direct_message_a_user_asks_and_moderates_nothing(guild: Guild) -> None:
    user = {"member": None, "user": {"id": "43"}, "guild_id": None}
    _, shown = await guild.use({k: v for k, v in {**rec("add", url=URL), **user}.items() if v is not None})
    assert (guild.desk.asked[0][2], shown) == ("discord:43", NEXT)
    first, _ = await guild.use({k: v for k, v in {**rec("resetqueue"), **user}.items() if v is not None})
    assert "for moderators" in first["data"]["content"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (rec("resetqueue"), "for moderators"),
        (rec("clearqueue", url=URL), "for moderators"),
        (rec("override", url=URL), "for moderators"),
        (set_channel(CHANNEL, member=MEMBER), "for moderators"),
        (rec("override", {**MEMBER, "permissions": "x"}, url=URL), "for moderators"),
        (rec("add", url="hello"), "not an address"),
        (rec("dance"), "not known"),
    ],
)
async def test_refusals_come_at_once_and_only_to_the_one_who_asked(
    guild: Guild, body: dict[str, Any], words: str
) -> None:
    first, shown = await guild.use(body)
    assert (first["type"], first["data"]["flags"], shown) == (4, 64, None)
    assert words in first["data"]["content"]
    assert guild.desk.asked == []


@pytest.mark.parametrize(("guilds", "is_served"), [([], True), (["9"], True), (["10"], False)])
async def test_only_the_servers_that_are_named_are_served(
    guild: Guild, guilds: list[str], is_served: bool
) -> None:
    guild.configure(guilds=guilds)
    await guild.use(rec("resetqueue", OWNER))
    assert bool(guild.desk.asked) == is_served


async def test_a_channel_without_a_bot_says_which_setting_is_missing(guild: Guild) -> None:
    guild.configure(has_bot=False)
    _, shown = await guild.use(set_channel(CHANNEL))
    assert "FASCICLE\\_DISCORD\\_BOT\\_TOKEN" in (shown or "")
    assert guild.desk.asked == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UsageError("unknown_site", "We cannot read *that* site."), "We cannot read \\*that\\* site."),
        (RetryableError("store_down", "The database is away."), "The database is away."),
        (TimeoutError(), "takes longer than expected"),
        (RuntimeError("secret inside"), "Whoever runs this finds the reason in the log."),
    ],
)
async def test_what_goes_wrong_is_told_in_a_sentence(guild: Guild, error: Exception, words: str) -> None:
    guild.desk.answer = error
    _, shown = await guild.use(rec("add", url=URL))
    assert words in (shown or "")
    assert "secret inside" not in (shown or "")


async def test_titles_are_shown_as_they_are_and_call_nobody(guild: Guild) -> None:
    title = "@everyone <@42> **bold** <b>x</b> [y](https://evil.test)"
    fic = Fic(site="ao3", id="5", url=URL, title=title, authors=["@here"])
    guild.desk.answer = a_view(JobState.DONE, fic=fic)
    _, shown = await guild.use(rec("add", url=URL))
    assert "\\*\\*bold\\*\\* \\<b\\>x\\</b\\>" in (shown or "").replace("\u200b", "")
    assert "@everyone" not in (shown or "")
    (call,) = guild.simulator.discord.calls("edit")
    assert call.pings == []


async def test_a_long_answer_is_cut_rather_than_refused(guild: Guild) -> None:
    guild.desk.answer = a_view(JobState.NOTP, title="T" * 900, reasons=["r" * 900, "s" * 900])
    _, shown = await guild.use(rec("update", url=URL))
    assert len(shown or "") == 2000


@pytest.mark.parametrize(
    ("state", "fault", "edits"),
    [
        pytest.param(JobState.DONE, Fault(status=503, count=2), 3, id="the last word is said again"),
        pytest.param(JobState.DONE, Fault(status=429, retry_after="0.01", count=1), 2, id="after a wait"),
        pytest.param(JobState.PENDING, Fault(status=503, count=1), 1, id="a passing one is not"),
        pytest.param(JobState.PENDING, Fault(status=404, count=1), 2, id="unless it came too early"),
        pytest.param(JobState.DONE, Fault(status=404), 2, id="a reply that is gone is given up"),
        pytest.param(JobState.DONE, Fault(status=503), 3, id="in the end it is given up"),
    ],
)
async def test_edits_that_fail(guild: Guild, state: JobState, fault: Fault, edits: int) -> None:
    guild.desk.answer = a_view(state)
    guild.simulator.faults.add(fault.model_copy(update={"path": "/discord/"}))
    _, shown = await guild.use(rec("add", url=URL))
    assert len(guild.simulator.requests.matching("/discord/")) == edits
    assert (shown is None) == (fault.count is None or edits == 1)


async def test_x4_a_recorded_request_that_is_played_again_is_answered_and_not_carried_out(
    guild: Guild,
) -> None:
    body = orjson.dumps(rec("resetqueue", OWNER))
    headers = signed(body)
    guild.simulator.discord.add_interaction(TOKEN)
    answers = [await guild.send(body, headers) for _ in range(3)]
    await guild.routes.close()
    assert [(answer.status_code, answer.json()["type"]) for answer in answers] == [(200, 5)] * 3
    assert guild.desk.asked == [("reset",)]
    assert len(guild.simulator.discord.calls("edit")) == 1


@pytest.mark.parametrize("digits", [41, 5_000])
async def test_a_number_of_thousands_of_digits_gives_nobody_a_permission(guild: Guild, digits: int) -> None:
    first, _ = await guild.use(rec("resetqueue", {**MEMBER, "permissions": "9" * digits}))
    assert "for moderators" in first["data"]["content"]


async def test_a_body_with_a_number_of_thousands_of_digits_is_refused(guild: Guild) -> None:
    body = orjson.dumps(rec("add", url=URL)).replace(b'"type":3', b'"type":' + b"9" * 5_000)
    answer = await guild.send(body, signed(body))
    assert (answer.status_code, guild.desk.asked) == (400, [])


async def test_o2_a_command_that_hangs_does_not_hold_up_the_shutdown(guild: Guild) -> None:
    guild.desk.hangs = True
    body = orjson.dumps(rec("queue"))
    assert (await guild.send(body, signed(body))).json()["type"] == 5
    await asyncio.wait_for(guild.routes.close(seconds=0.01), 5)
    assert guild.desk.asked == [("queue", 10)]
    assert guild.simulator.discord.calls() == []


async def test_too_many_at_once_are_asked_to_come_back(guild: Guild, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MOST_AT_ONCE", 0)
    first, _ = await guild.use(rec("queue"))
    assert "try again in a minute" in first["data"]["content"]


async def test_x5_no_log_has_the_token(guild: Guild, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = StringIO()
    processors: list[Any] = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    monkeypatch.setattr(web, "log", structlog.wrap_logger(structlog.PrintLogger(logged), processors))
    guild.desk.answer = RuntimeError("broken desk")
    guild.simulator.faults.add(Fault(path="/discord/", kind="reset"))
    await guild.use(rec("add", url=URL))
    for event in ("discord_command", "broken desk", "discord_reply_failed"):
        assert event in logged.getvalue()
    assert TOKEN not in logged.getvalue()
