"""`fascicle automation` and `fascicle sale` at the command line, on the session's servers (P7, O5)."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from temporalio.client import Client, ScheduleOverlapPolicy

from fascicle.domain.names import AUTOMATION_SCHEDULE, new_id, publish_workflow_id
from fascicle.embedded import EmbeddedTemporal
from fascicle.services.operations.schedules import ensure_schedules
from fascicle.settings.settings import Settings
from fascicle.storage.database import open_engine, transaction
from tests.drafts import add_account, add_automation, add_draft, add_sale
from tests.starter.commandline import Outcome
from tests.starter.conftest import Desk
from tests.starter.services import new_namespace

BERLIN = ("--time-zone", "Europe/Berlin")
SIX = ("--at", "18:00", *BERLIN)


@dataclass(frozen=True)
class Studio:
    """A person with an account, at a database and a Temporal that run already."""

    desk: Desk
    env: dict[str, str]
    engine: AsyncEngine

    def fascicle(self, *arguments: str) -> Outcome:
        return self.desk.fascicle(*arguments, **self.env)

    def json(self, *arguments: str) -> Any:
        return self.fascicle(*arguments, "--json").json()

    async def value(self, sql: str) -> Any:
        async with transaction(self.engine) as connection:
            return await connection.scalar(text(sql))

    async def execute(self, sql: str) -> None:
        async with transaction(self.engine) as connection:
            await connection.execute(text(sql))


@pytest.fixture
async def studio(
    desk: Desk, database_url: str, temporal: EmbeddedTemporal, client: Client
) -> AsyncIterator[Studio]:
    engine = open_engine(database_url)
    async with transaction(engine) as connection:
        await add_account(connection)
    yield Studio(desk, {"DATABASE_URL": database_url, "TEMPORAL_ADDRESS": temporal.address}, engine)
    await engine.dispose()


async def test_p7_create_show_list_disable_enable_delete(studio: Studio) -> None:
    options = (
        "--days",
        "mon,wed",
        "--default",
        "tags=ink,night",
        "--default",
        "feature=no",
        "--jitter",
        "60",
    )
    made = studio.json(
        "automation", "create", "eve", "--account", "ann", *SIX, *options, "--sale-points", "80"
    )
    assert made["rule"] == {"kind": "fixed_time", "times": ["18:00"], "days": ["mon", "wed"]}
    assert (made["defaults"], made["sale"]) == ({"tags": ["ink", "night"], "feature": False}, {"points": 80})
    assert [window["local"][:3] for window in made["next_windows"]].count("Mon") in (2, 3)
    shown = studio.fascicle("automation", "show", "ann/eve").said()
    assert "at 18:00, mon, wed" in shown
    assert "CET" in shown or "CEST" in shown
    assert "It has not fired yet." in shown
    assert studio.json("automation", "disable", "eve")["changed"]
    assert "disabled" in studio.fascicle("automation", "show", "eve").said()
    before = await studio.value("select active_since from automation")
    assert "is enabled" in studio.fascicle("automation", "enable", made["id"]).said()
    assert await studio.value("select active_since from automation") > before
    assert "was already enabled" in studio.fascicle("automation", "enable", "eve").said()
    [listed] = studio.json("automation", "list")
    assert (listed["name"], listed["account"], listed["enabled"]) == ("eve", "ann", True)
    assert "at 18:00, mon, wed" in studio.fascicle("automation", "list").said()
    studio.fascicle("automation", "delete", "eve")
    assert studio.json("automation", "list") == []


async def test_p7_test_tells_what_would_happen_and_changes_nothing(studio: Studio) -> None:
    now = datetime.now(UTC)
    async with transaction(studio.engine) as connection:
        await add_draft(connection, "moon", feature=False, created_at=now - timedelta(hours=2))
        await add_draft(connection, "sun", created_at=now - timedelta(hours=1))
        rule = {"kind": "fixed_interval", "every_minutes": 60}
        defaults = {"feature": True, "tags": ["ink"]}
        since = now - timedelta(minutes=65)
        for strategy in ("fifo", "random"):
            await add_automation(
                connection, strategy, rule=rule, defaults=defaults, active_since=since, strategy=strategy
            )
    seen = studio.json("automation", "test", "fifo")
    assert (seen["due_now"], seen["drafts"]) == (1, 2)
    assert [window["post_id"] for window in seen["windows"][:3]] == ["moon", "sun", None]
    filled = {"moon": {"tags": ["ink"]}, "sun": {"feature": True, "tags": ["ink"]}}
    assert {one["post_id"]: one["filled"] for one in seen["candidates"]} == filled
    assert "one of those below" in studio.fascicle("automation", "test", "random").said()
    assert await studio.value("select count(*) from automation_run") == 0
    assert await studio.value("select count(*) from post where state = 'draft'") == 2


async def test_p7_run_fires_now_and_the_log_tells(studio: Studio, client: Client) -> None:
    draft = f"moon-{new_id()}"
    async with transaction(studio.engine) as connection:
        await add_draft(connection, draft)
        await add_automation(connection, "eve", enabled=False, jitter_seconds=86400.0)
    ran = studio.json("automation", "run", "eve")
    assert (ran["outcome"], ran["post_id"]) == ("scheduled", draft)
    workflow = await client.get_workflow_handle(publish_workflow_id(draft)).describe()
    assert workflow.workflow_type == "PublishPostWorkflow"
    assert "no draft that is ready" in studio.fascicle("automation", "run", "eve").said()
    log = studio.json("automation", "log", "eve")
    assert [(run["outcome"], run["post_id"]) for run in log] == [("no_drafts", None), ("scheduled", draft)]
    assert log[0]["window_key"].startswith("manual-")
    assert "the window is used up" in studio.fascicle("automation", "log", "eve").said()


async def test_p7_the_owners_time_zone_is_meant_where_none_is_said(studio: Studio) -> None:
    command = ("automation", "create", "eve", "--account", "ann", "--every", "60")
    assert "--time-zone" in studio.fascicle(*command).err
    await studio.execute("insert into app_user (id, name, time_zone) values ('u', 'u', 'Asia/Tokyo')")
    await studio.execute("update account set user_id = 'u'")
    assert studio.fascicle(*command).code == 2, "nobody chose it"
    await studio.execute("update app_user set time_zone_chosen = true")
    assert studio.json(*command)["time_zone"] == "Asia/Tokyo"
    again = studio.fascicle(*command)
    assert (again.code, "already" in again.err) == (2, True)


async def test_p7_one_that_makes_no_sense_is_shown_as_such(studio: Studio) -> None:
    async with transaction(studio.engine) as connection:
        await add_automation(connection, "odd", rule={"kind": "sometimes"})
    assert "It cannot fire: rule" in studio.fascicle("automation", "show", "odd").err
    assert studio.fascicle("automation", "test", "odd").code == 1
    assert "invalid" in studio.fascicle("automation", "list").out


async def test_p7_the_sale_queue_at_the_command_line(studio: Studio) -> None:
    async with transaction(studio.engine) as connection:
        sale_id = str(await add_sale(connection, "moon"))
    assert studio.json("sale", "list")[0]["state"] == "ready"
    item = studio.json("sale", "next", "--client", "shop")
    assert (item["title"], item["urls"]) == ("Moon", ["https://art.test/moon"])
    assert studio.json("sale", "next") is None
    assert "not the current claim" in studio.fascicle("sale", "complete", sale_id, "--claim", "x").err
    failed = studio.json("sale", "fail", sale_id, "--claim", item["claim"], "--error", "shut", "--no-retry")
    assert failed["state"] == "failed"
    assert "80 points" in studio.fascicle("sale", "list", "--state", "failed").said()
    assert "1 sale failed: fascicle sale list" in studio.fascicle("status").said()
    assert studio.json("sale", "retry", sale_id)["state"] == "waiting"
    claim = studio.json("sale", "next")["claim"]
    assert studio.json("sale", "complete", sale_id, "--claim", claim)["state"] == "done"


async def test_p7_the_schedule_is_made_and_never_overlaps(temporal: EmbeddedTemporal) -> None:
    client = await new_namespace(temporal.address)
    await ensure_schedules(client, Settings(automation_every_seconds=240))
    await ensure_schedules(client, Settings(automation_every_seconds=300))
    schedule = (await client.get_schedule_handle(AUTOMATION_SCHEDULE).describe()).schedule
    assert schedule.policy.overlap is ScheduleOverlapPolicy.SKIP
    assert [interval.every for interval in schedule.spec.intervals] == [timedelta(minutes=5)]


CREATE = ("automation", "create", "x", "--account", "ann")
WRONG = [
    ((*CREATE, *BERLIN), "Say when"),
    ((*CREATE, *SIX, "--every", "60"), "Say when"),
    ((*CREATE, "--at", "6pm", *BERLIN), "no time of day"),
    ((*CREATE, "--at", "18:00", "--at", "18:02", *BERLIN), "5 minutes apart"),
    ((*CREATE, "--every", "1", *BERLIN), "greater than or equal to 5"),
    ((*CREATE, "--per-day", "3", "--between", "22-2", *BERLIN), "within one day"),
    ((*CREATE, "--per-day", "3", "--between", "noon", *BERLIN), "no hours"),
    ((*CREATE, *SIX, "--between", "9-22"), "belongs to --per-day"),
    ((*CREATE, *SIX, "--days", "someday"), "no day"),
    ((*CREATE, "--at", "18:00", "--time-zone", "Mars/Olympus"), "no time zone"),
    ((*CREATE, *SIX, "--strategy", "best"), "fifo"),
    ((*CREATE, *SIX, "--default", "tags"), "name=value"),
    ((*CREATE, *SIX, "--default", "title=x"), "has no default"),
    ((*CREATE, *SIX, "--default", "tags=two words"), "tags"),
    ((*CREATE, *SIX, "--default", "display_resolution=9"), "display_resolution"),
    ((*CREATE, *SIX, "--sale-points", "5", "--sale-price", "1USD"), "Either"),
    ((*CREATE, *SIX, "--sale-price", "cheap"), "no price"),
    ((*CREATE, *SIX, "--sale-points", "0"), "That price does not work"),
    ((*CREATE, *SIX, "--jitter", "-1"), "--jitter"),
    (("automation", "create", "a/b", "--account", "ann", *SIX), "without a slash"),
    (("automation", "create", "x", "--account", "nobody", *SIX), "no account 'nobody'"),
    (("automation", "show", "nonsense"), "fascicle automation list"),
    (("automation", "run", "nonsense"), "fascicle automation list"),
    (("sale", "retry", "7"), "no sale 7"),
    (("sale", "list", "--state", "odd"), "no state"),
]


async def test_x7_wrong_wishes_are_told_and_change_nothing(studio: Studio) -> None:
    for command, words in WRONG:
        outcome = studio.fascicle(*command)
        assert (outcome.code, words in outcome.said()) == (2, True), (command, outcome)
        assert "Traceback" not in outcome.err
    assert await studio.value("select count(*) from automation") == 0
