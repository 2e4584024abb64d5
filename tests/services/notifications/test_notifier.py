"""Messages through Apprise: what arrived, what did not, and what nobody knows (C8, X4, X5)."""

import contextlib

import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.notifications.channel_kinds import SAFE_SCHEMAS
from fascicle.net.ssrf import HostGuard
from fascicle.services.notifications.channel_check import check_channel
from fascicle.services.notifications.channels import check_is_allowed, kind_of, masked
from fascicle.services.notifications.message import Markup, Message, Place, fit_for
from fascicle.services.notifications.notifier import Notifier
from simulator.faults import Fault
from simulator.server import RunningSimulator
from tests.mail_server import MailServer

MESSAGE = Message(title="Lanterns: Chapter 4", body="The Fourth\nhttps://x")


@pytest.fixture
def channel(simulator: RunningSimulator) -> str:
    return simulator.url.replace("http://", "json://") + "/sink/ann"


@pytest.fixture
def notifier() -> Notifier:
    return Notifier(HostGuard(["127.0.0.1"]))


async def test_c8_a_message_arrives(notifier: Notifier, channel: str, simulator: RunningSimulator) -> None:
    assert (await notifier.send(channel, MESSAGE)).ok
    [message] = simulator.sink.messages("ann")
    assert (message.title, message.message) == (MESSAGE.title, MESSAGE.body)


async def test_c8_a_refusal_is_certain_and_says_why(
    notifier: Notifier, channel: str, simulator: RunningSimulator
) -> None:
    simulator.faults.add(Fault(path="/sink", status=500))
    sent = await notifier.send(channel, MESSAGE)
    assert (sent.ok, sent.certain) == (False, True)
    assert sent.error
    assert "500" in sent.error


async def test_p3_an_answer_that_is_lost_after_sending_is_uncertain(
    notifier: Notifier, channel: str, simulator: RunningSimulator
) -> None:
    simulator.faults.add(Fault(path="/sink", kind="reset", takes_effect=True))
    sent = await notifier.send(channel, MESSAGE)
    assert (sent.ok, sent.certain) == (False, False)


async def test_p3_a_proxy_that_does_not_know_is_uncertain(
    notifier: Notifier, channel: str, simulator: RunningSimulator
) -> None:
    simulator.faults.add(Fault(path="/sink", status=504))
    assert not (await notifier.send(channel, MESSAGE)).certain


async def test_p3_mail_that_was_accepted_but_never_acknowledged_is_uncertain(notifier: Notifier) -> None:
    async with MailServer("hang_up") as server:
        sent = await notifier.send(
            f"mailto://ann:pw@127.0.0.1:{server.port}?from=ann@mail.example&to=bob@mail.example", MESSAGE
        )
    assert len(server.mails) == 1
    assert (sent.ok, sent.certain) == (False, False)


async def test_x4_a_channel_with_several_targets_is_refused_for_a_retry_would_double() -> None:
    with pytest.raises(UsageError, match="several targets"):
        check_channel("mailto://u:p@mail.example?to=a@x.example,b@x.example")


async def test_c8_apprise_never_retries_on_its_own(
    notifier: Notifier, channel: str, simulator: RunningSimulator
) -> None:
    simulator.faults.add(Fault(path="/sink", status=500))
    await notifier.send(channel + "?retry=3&wait=0", MESSAGE)
    assert len(simulator.requests.matching("/sink")) == 1


async def test_x4_a_channel_on_a_private_address_is_refused(
    channel: str, simulator: RunningSimulator
) -> None:
    sent = await Notifier(HostGuard()).send(channel, MESSAGE)
    assert (sent.ok, sent.certain) == (False, True)
    assert simulator.requests.matching("/sink") == []


@pytest.mark.parametrize("url", ["nonsense", "http://", "unknown://x", ""])
def test_x7_a_channel_that_apprise_does_not_know_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        check_channel(url)


def test_x5_channels_are_shown_without_their_secrets() -> None:
    for url in ("discord://123456789/a-very-secret-token-of-the-webhook", "json://hooks.example/secret"):
        assert "secret" not in masked(kind_of(url))
        assert masked(kind_of(url)).startswith(url.partition(":")[0])


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("ntfy://topic", True),
        ("json://example.org/SECRET", True),
        ("mailto://user:SECRET@example.org", True),
        ("discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", True),
        ("https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js", True),
        ("discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js?template=/etc/passwd", False),
        ("syslog://", False),
        ("rsyslog://example.org", False),
        ("irc://SECRET@example.org/reader", False),
    ],
)
def test_c8_channels_that_act_on_this_machine_are_not_for_everyone(url: str, allowed: bool) -> None:
    channel = check_channel(url)
    check_is_allowed(channel, ["*"])
    with contextlib.nullcontext() if allowed else pytest.raises(UsageError) as refused:
        check_is_allowed(channel, SAFE_SCHEMAS)
    assert "SECRET" not in str(refused)


@pytest.mark.parametrize(
    ("body", "most", "sent"),
    [
        ("one\ntwo", 100, "one\ntwo"),
        ("one\ntwo\nthree", 11, "one\ntwo\n…"),
        ("x" * 50, 10, "xxxxxxxx\n…"),
        ("anything", 0, "anything"),
    ],
)
def test_c8_a_long_message_is_cut_at_a_line_so_that_the_service_takes_it(
    body: str, most: int, sent: str
) -> None:
    _, fitted = fit_for(Place(kinds={"ntfy"}, markup=Markup.TEXT, most=most), Message("title", body))
    assert fitted == sent
    assert not most or len(fitted) <= most
