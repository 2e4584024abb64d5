"""Discord from a signed command to the edited reply: real desk, workflow and database (F4, F5, F8)."""

from typing import Any

import pytest
from pydantic import SecretStr

from fascicle.domain.names import fic_workflow_id
from simulator.discord.records import BOT_TOKEN
from tests.fics import desk, hold_next, release, told, until_held, until_over, work
from tests.harness import Harness, eventually
from tests.web.discord_guild import CHANNEL, OWNER, TOKEN, Guild, rec, set_channel


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"fic_instant_seconds": 0, "discord_bot_token": SecretStr(BOT_TOKEN)}


@pytest.fixture
def guild(stack: Harness) -> Guild:
    return Guild(stack.dependencies.http, stack.simulator, desk(stack))


async def test_f5_a_reply_says_that_they_wait_and_then_what_became_of_it(
    stack: Harness, guild: Guild
) -> None:
    hold = hold_next(stack)
    url = work(stack, title="A *starred* title")
    _, shown = await guild.use(rec("add", url=url, note="please"))
    assert shown is not None
    assert "Next" in shown or "asked right now" in shown
    assert await stack.value("select token from discord_reply") != TOKEN
    # The first word was ours; the workflow waits a moment before it says more.
    await stack.execute("update discord_reply set next_attempt_at = now()")
    await release(stack, hold)
    await eventually(lambda: _shows(stack, "Done"), what="the reply to be edited")
    assert r"A \*starred\* title" in str(stack.simulator.discord.shown(TOKEN))
    await eventually(
        lambda: stack.value("select state = 'settled' from discord_reply"), what="the reply to be settled"
    )


async def test_f5_a_reply_that_is_too_old_is_answered_in_its_channel(stack: Harness, guild: Guild) -> None:
    stack.simulator.discord.add_channel("8")
    hold = hold_next(stack)
    url = work(stack, title="Late")
    await guild.use(rec("add", url=url))
    await stack.execute("update discord_reply set next_attempt_at = now(), expires_at = now()")
    await release(stack, hold)
    await until_over(stack, await desk(stack).show(url))
    (message,) = stack.simulator.discord.messages("8")
    assert message.content.startswith("<@42> Done: Late")


async def test_f8_moderators_choose_the_channel_and_clear_what_runs(stack: Harness, guild: Guild) -> None:
    stack.simulator.discord.add_channel("555")
    await guild.use(set_channel(CHANNEL))
    done = await desk(stack).add(work(stack, title="Told"), "mara", wait_seconds=60)
    await until_over(stack, done)
    assert [message.content.splitlines()[0] for message in stack.simulator.discord.messages("555")] == [
        "**Read: Told**"
    ]
    hold = hold_next(stack)
    url = work(stack, title="Gone")
    await guild.use(rec("add", url=url))
    await until_held(stack)
    answer, _ = await guild.use(rec("clearqueue", url=url))
    assert "for moderators" in answer["data"]["content"]
    await stack.execute("update discord_reply set next_attempt_at = now()")
    await guild.use(rec("clearqueue", OWNER, url=url))
    await release(stack, hold)
    key = f"ao3-work-{url.rpartition('/')[2]}"
    await stack.client.get_workflow_handle(fic_workflow_id(key)).result()
    assert await stack.value("select state from discord_reply") == "settled"
    assert told(stack, "mara") == []


async def _shows(stack: Harness, words: str) -> bool:
    return words in str(stack.simulator.discord.shown(TOKEN))
