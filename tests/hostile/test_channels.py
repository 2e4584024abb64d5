"""No spelling of a channel's address reads files of this machine or opens a private host."""

from pathlib import Path

import apprise
import pytest

from fascicle.domain.errors import UsageError
from fascicle.domain.notifications.channel_kinds import SAFE_SCHEMAS
from fascicle.net.ssrf import HostGuard
from fascicle.services.notifications.channel_check import check_channel
from fascicle.services.notifications.channels import check_is_allowed
from fascicle.services.notifications.message import Message
from fascicle.services.notifications.notifier import Notifier
from tests.hostile.channel_urls import CHANNELS
from tests.hostile.http_sink import HttpSink, send_everything_to
from tests.mail_server import MailServer

MESSAGE = Message("Lanterns", "Chapter 4")
DISCORD, SLACK, TELEGRAM, TEAMS = (CHANNELS[kind] for kind in ("discord", "slack", "tgram", "workflow"))


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "secret.json"
    file.write_text('{"content": "of this machine"}')
    return file


@pytest.mark.parametrize(
    "spelling",
    [
        "?template={file}",
        "?x=y;template={file}",
        "?x=y&template={file}",
        "/#?template={file}",
        "#?template={file}",
        "?#?template={file}",
        "?TEMPLATE={file}",
        "?Template={file}",
        "?%74emplate={file}",
        "?%54%45%4DPLATE={file}",
        "?template=file://{file}",
        "?template=file%3A%2F%2F{file}",
        "?template=FILE://{file}",
        "?format=markdown;template={file}",
        "/?template={file}&template=",
        "?+template=x&template={file}",
        "? template={file}",
        "?template%20={file}",
        "?&&;template={file}",
    ],
)
@pytest.mark.parametrize("service", [DISCORD, SLACK, TELEGRAM.rstrip("/"), TEAMS])
def test_a_template_of_this_machine_is_refused_however_it_is_spelt(
    service: str, spelling: str, template: Path
) -> None:
    url = service + spelling.format(file=template)
    try:
        channel = check_channel(url)
    except UsageError:
        return  # Apprise does not take it either
    if not _reads(url):
        return  # nothing but an odd parameter
    with pytest.raises(UsageError, match="names a file"):
        check_is_allowed(channel, SAFE_SCHEMAS)
    check_is_allowed(channel, ["*"])


def _reads(url: str) -> bool:
    template = getattr(apprise.Apprise.instantiate(url), "template", None)
    return template is not None and len(template) > 0


def test_the_spellings_of_the_issue_do_reach_apprise(template: Path) -> None:
    assert _reads(f"{DISCORD}?x=y;template={template}")
    assert _reads(f"{DISCORD}/#?template={template}")


@pytest.mark.parametrize(
    "url",
    [
        "ntfy://topic?attach=file:///etc/passwd",
        "ntfy://topic?x=1;attach=/etc/passwd",
        "ntfy://topic?ATTACH=/etc/passwd",
        "json://hooks.example/x?:file=file:///etc/passwd",
        "json://hooks.example/x?-x=file:///etc/passwd",
        "form://hooks.example/x?+header=file:///etc/passwd",
        "mailto://u:p@mail.example?pgpkey=/etc/passwd",
        "mailto://u:p@mail.example?x=1;pgppub=/etc/passwd",
        "mailto://u:p@mail.example/#?pgpprv=/etc/passwd",
        "https://discord.com/api/webhooks/1234567890/" + "a" * 64 + "?template=/etc/passwd",
        "https://discord.com/api/webhooks/1234567890/" + "a" * 64 + "?x=y;template=/etc/passwd",
        "syslog://",
        "SYSLOG://",
        "dbus://",
        "windows://",
        "fcm://project@apikey/token/?keyfile=/etc/passwd",
        "vapid://ann@mail.example/bob@mail.example?keyfile=/etc/passwd",
        "mqtt://127.0.0.1/topic",
        "rsyslog://127.0.0.1",
    ],
)
def test_what_reads_files_or_acts_on_this_machine_is_not_for_everyone(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_is_allowed(check_channel(url), SAFE_SCHEMAS)
    assert "passwd" not in str(refused.value)


@pytest.mark.parametrize("kind", CHANNELS)
def test_an_ordinary_channel_of_each_kind_is_allowed(kind: str) -> None:
    check_is_allowed(check_channel(CHANNELS[kind]), SAFE_SCHEMAS)


@pytest.mark.parametrize(
    "url",
    [
        "mailto://allowed.example:{port}/?smtp=127.0.0.1&from=a@x.example&to=b@x.example",
        "mailto://u:p@allowed.example:{port}/?SMTP=127.0.0.1&from=a@x.example&to=b@x.example",
        "mailto://allowed.example:{port}/?x=1;smtp=127.0.0.1&from=a@x.example&to=b@x.example",
        "mailto://allowed.example:{port}/?smtp=localhost&from=a@x.example&to=b@x.example",
        "mailto://allowed.example:{port}/?smtp=127.1&from=a@x.example&to=b@x.example",
    ],
)
async def test_an_allowed_name_opens_no_other_host(url: str) -> None:
    async with MailServer() as server:
        sent = await Notifier(HostGuard(["allowed.example"])).send(url.format(port=server.port), MESSAGE)
    assert not sent.ok
    assert server.mails == []


async def test_an_allowed_host_is_reached_by_any_name_and_only_at_its_port() -> None:
    async with MailServer() as server:
        url = f"mailto://mail.example:{server.port}/?smtp=127.0.0.1&from=a@x.example&to=b@x.example"
        assert not (await Notifier(HostGuard(["127.0.0.1:1"])).send(url, MESSAGE)).ok
        assert (await Notifier(HostGuard([f"localhost:{server.port}"])).send(url, MESSAGE)).ok
        assert len(server.mails) == 1


@pytest.mark.parametrize("entry", ["127.0.0.1", "localhost", "127.0.0.1:{port}", "LOCALHOST:{port}"])
async def test_a_channel_on_an_allowed_host_is_reached(entry: str) -> None:
    with HttpSink() as sink:
        port = sink.address.rpartition(":")[2]
        notifier = Notifier(HostGuard([entry.format(port=port)]))
        assert (await notifier.send(f"json://{sink.address}/x", MESSAGE)).ok


async def test_ipv4_in_ipv6_is_the_same_private_address() -> None:
    sent = await Notifier(HostGuard(["allowed.example"])).send(
        "apprise://[::ffff:127.0.0.1]:9/token123", MESSAGE
    )
    assert (sent.ok, sent.certain) == (False, True)


@pytest.mark.parametrize(
    "url",
    [
        "ntfy://sink.example/s3cret-topic",
        "ntfy://s3cret-topic",
        "line://" + "a" * 40 + "/Us3cret",
        "tgram://123456789:" + "a" * 35 + "/s3cretchannel/",
        "json://sink.example/services/s3cret-token?+X-Key=another-s3cret",
    ],
)
async def test_a_refusal_never_repeats_the_secret_parts_of_an_address(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HttpSink() as sink:
        sink.status = 500
        send_everything_to(sink, monkeypatch)
        sent = await Notifier(HostGuard(["127.0.0.1"])).send(url, MESSAGE)
    assert not sent.ok
    assert "Failed to send" in str(sent.error)
    assert "s3cret" not in str(sent)
