"""Mail that is owed (P6): written once, sent once, and nobody wonders why it did not arrive."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from activities.notifications.mail import MailActivities
from fascicle.jobs.notifications import DeliverMailResult
from fascicle.services.notifications.channel_check import check_channel
from fascicle.services.notifications.mailer import routes
from fascicle.settings.settings import Settings
from fascicle.storage.database import transaction
from fascicle.storage.notifications.channel import add_channel
from fascicle.storage.notifications.mail import write_mail
from fascicle.storage.series import library
from tests.harness import Harness
from tests.mail_server import MailServer


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    async with MailServer() as running:
        yield running


class Office:
    """An account with an owner, and who sends its mail."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    async def prepare(self) -> None:
        async with transaction(self.harness.dependencies.engine) as connection:
            self.owner, _ = await library.add_user(connection, "ann")
        await self.harness.execute(
            """insert into account (id, user_id, site_user_id, name) values ('a1', :owner, 'u1', 'Ann')""",
            owner=self.owner,
        )

    async def write(self, key: str = "k1") -> bool:
        async with transaction(self.harness.dependencies.engine) as connection:
            return await write_mail(
                connection,
                account_id="a1",
                kind="test",
                dedup_key=key,
                subject=f"Ann's töken: {key}",
                body="One line\nand <another>",
            )

    async def deliver(self, **settings: Any) -> DeliverMailResult:
        dependencies = self.harness.dependencies
        merged = dependencies.settings.model_copy(update=settings)
        sender = MailActivities(dependencies.engine, dependencies.notifier, dependencies.vault, merged)
        return await ActivityEnvironment().run(sender.deliver_mail)

    async def states(self) -> list[tuple[str, int]]:
        found = await self.harness.rows("select state, attempts from mail order by id")
        return [(row["state"], row["attempts"]) for row in found]


@pytest.fixture
async def office(harness: Harness) -> Office:
    made = Office(harness)
    await made.prepare()
    return made


def smtp(server: MailServer, **more: Any) -> dict[str, Any]:
    plain = {"smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_security": "insecure"}
    return {**plain, "smtp_from": "fascicle@mail.example", "mail_to": "ops@mail.example", **more}


async def test_p6_one_event_is_one_mail_to_the_owner(office: Office, server: MailServer) -> None:
    await office.harness.execute("update app_user set email = 'ann@mail.example'")
    assert [await office.write() for _ in range(3)] == [True, False, False]
    results = await asyncio.gather(*(office.deliver(**smtp(server)) for _ in range(4)))
    assert sum(result.sent for result in results) == 1
    assert server.recipients == ["ann@mail.example"]
    assert server.subjects() == ["Ann's töken: k1"]
    assert b"another>" in server.mails[0].get_payload(decode=True)
    assert await office.states() == [("sent", 1)]


async def test_p6_without_an_address_of_the_owner_the_operator_gets_it(
    office: Office, server: MailServer
) -> None:
    await office.write()
    login = {"smtp_user": "me@x.example", "smtp_password": SecretStr("p/w@:")}
    assert (await office.deliver(**smtp(server, **login))).sent == 1
    assert (server.recipients, server.logins) == (["ops@mail.example"], 1)


async def test_p6_an_apprise_mail_url_goes_first(office: Office, server: MailServer) -> None:
    await office.write()
    url = f"mailto://u:p@127.0.0.1:{server.port}?from=a@mail.example&to=b@mail.example"
    assert (await office.deliver(**smtp(server, mail_url=SecretStr(url)))).sent == 1
    assert server.recipients == ["b@mail.example"]


async def test_p6_a_refusal_is_tried_five_times_then_failed(office: Office, server: MailServer) -> None:
    server.manners = "refuse"
    await office.write()
    for attempt in range(1, 6):
        result = await office.deliver(**smtp(server))
        assert (await office.states())[0][1] == attempt
        assert (result.next_attempt_seconds is None) == (attempt == 5)
        await office.harness.execute("update mail set next_attempt_at = now()")
    assert await office.states() == [("failed", 5)]
    assert (await office.deliver(**smtp(server))).next_attempt_seconds is None


async def test_p6_a_mail_server_that_is_away_is_a_certain_failure(office: Office) -> None:
    async with MailServer() as gone:
        pass
    await office.write()
    assert (await office.deliver(**smtp(gone))).next_attempt_seconds is not None
    assert await office.states() == [("pending", 1)]


async def test_x1_a_mail_that_may_have_arrived_is_never_sent_again(
    office: Office, server: MailServer
) -> None:
    server.manners = "hang_up"
    await office.write()
    assert (await office.deliver(**smtp(server))).unconfirmed == 1
    await office.deliver(**smtp(server))
    assert (len(server.mails), await office.states()) == (1, [("unconfirmed", 1)])


async def test_x1_a_sender_that_died_leaves_its_mail_unconfirmed(office: Office, server: MailServer) -> None:
    await office.write("died")
    await office.write("at work")
    await office.harness.execute(
        """update mail set state = 'sending', attempts = 1,
           sending_at = now() - case dedup_key when 'died' then interval '2 min' else interval '5 s' end"""
    )
    result = await office.deliver(**smtp(server))
    assert (result.sent, result.unconfirmed) == (0, 1)
    assert await office.states() == [("unconfirmed", 1), ("sending", 1)]


async def test_p6_without_mail_the_owners_channels_are_used(office: Office) -> None:
    sink = office.harness.simulator.url.replace("http://", "json://") + "/sink/ann"
    dependencies = office.harness.dependencies
    async with transaction(dependencies.engine) as connection:
        await add_channel(connection, dependencies.vault, office.owner, sink)
    await office.write()
    assert (await office.deliver()).sent == 1
    assert [message.title for message in office.harness.simulator.sink.messages("ann")] == ["Ann's töken: k1"]


async def test_p6_without_any_way_the_mail_says_so(office: Office) -> None:
    await office.write()
    assert (await office.deliver()).failed == 1
    assert "no mail configured" in await office.harness.value("select last_error from mail")


@pytest.mark.parametrize(
    ("security", "kind"), [("starttls", "mailtos"), ("ssl", "mailtos"), ("insecure", "mailto")]
)
def test_p6_every_kind_of_mail_server_has_an_address(security: Any, kind: str) -> None:
    settings = Settings(
        smtp_host="mail.example", smtp_user="me@x.example", smtp_password=SecretStr("a:b/c?d#e"),
        smtp_security=security,
    )  # fmt: skip
    [route] = routes(settings, "ann@mail.example", [])
    assert route.url.startswith(f"{kind}://")
    assert kind in check_channel(route.url).kinds
    assert route.url not in repr(route)
