"""After a restore: what cannot be taken back is left to a person, and nothing else is touched (X1)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from fascicle.storage.database import open_engine, transaction
from fascicle.storage.notifications import notification as notifications
from fascicle.storage.notifications.mail import write_mail
from fascicle.storage.operations import dead_letter
from fascicle.storage.operations.restored import Doubts, doubt_what_may_have_happened, to_read_anew
from tests.drafts import add_account, add_automation, add_draft, add_sale
from tests.storage.notifications.test_telling import RELEASE, Shelf, tell

HOUR = timedelta(hours=1)


@pytest.fixture
async def connection(database_url: str) -> AsyncIterator[AsyncConnection]:
    engine = open_engine(database_url)
    async with transaction(engine) as opened:
        yield opened
    await engine.dispose()


async def doubt(connection: AsyncConnection, *, silent: bool = False) -> Doubts:
    return await doubt_what_may_have_happened(connection, silent=silent)


async def rows(connection: AsyncConnection, sql: str) -> list[dict[str, Any]]:
    return [dict(row) for row in (await connection.execute(text(sql))).mappings()]


@pytest.mark.parametrize(
    ("columns", "is_doubted"),
    [
        ({"state": "scheduled", "due": -HOUR}, True),
        ({"state": "scheduled", "due": HOUR}, False),
        ({"state": "scheduled", "due": -HOUR, "jittered": HOUR}, False),
        ({"state": "scheduled", "due": -HOUR, "jittered": HOUR, "moved": True}, True),
        ({"state": "uploading", "due": HOUR}, True),
        ({"state": "publishing", "due": -HOUR}, True),
        ({"state": "draft"}, False),
        ({"state": "published", "due": -HOUR}, False),
    ],
)
async def test_x1_a_post_that_may_be_out_by_now_waits_for_a_person(
    connection: AsyncConnection, columns: dict[str, Any], is_doubted: bool
) -> None:
    await add_account(connection)
    now = datetime.now(UTC)
    times: dict[str, Any] = {}
    if "due" in columns:
        at = now + columns["due"]
        times = {"publish_at": at, "due_at": now + columns["jittered"] if "jittered" in columns else at}
        times["planned_for"] = at - HOUR if "moved" in columns else at
    await add_draft(connection, "moon", state=columns["state"], **times)

    doubts = await doubt(connection)

    assert [(post["id"], post["account"]) for post in doubts.posts] == [("moon", "ann")] * is_doubted
    [post] = await rows(connection, "select state, last_error_code from post")
    story = await rows(connection, "select kind, detail ->> 'code' as code from post_event")
    if is_doubted:
        assert post == {"state": "unconfirmed", "last_error_code": "database_restored"}
        assert story == [{"kind": "unconfirmed", "code": "database_restored"}]
    else:
        assert (post["state"], story) == (columns["state"], [])


@pytest.mark.parametrize("state", ["pending", "sending"])
async def test_x1_a_message_under_way_is_a_dead_letter_that_can_be_replayed(
    connection: AsyncConnection, state: str
) -> None:
    shelf = await Shelf.set_up(connection)
    await shelf.follower(connection, "ann")
    chapter = await shelf.store(connection, RELEASE)
    await tell(connection, chapter, RELEASE)
    await connection.execute(text("update delivery set state = :state"), {"state": state})

    assert (await doubt(connection)).messages == 1

    [delivery] = await rows(connection, "select id, state from delivery")
    assert delivery["state"] == "unconfirmed"
    [letter] = await dead_letter.to_replay(
        connection, letters=[], code="delivery_unconfirmed", kind="deliver", after=0, limit=10
    )
    wanted = {"chapter_id": chapter, "job_key": None, "delivery_id": delivery["id"]}
    assert (letter["job_key"], letter["job_input"]) == (str(delivery["id"]), wanted)
    assert letter["series_id"] == shelf.series_id
    stored = await dead_letter.get(connection, letter["id"])
    assert stored is not None
    assert stored["workflow_id"] == f"notify-{shelf.series_id}-{chapter}"
    assert stored["error"]["message"].startswith("The message may or may not have arrived")
    assert await notifications.requeue(connection, delivery["id"], RELEASE) == chapter


async def test_x1_mail_sales_and_automations_stop(connection: AsyncConnection) -> None:
    account = await add_account(connection)
    await write_mail(connection, account_id=account, kind="t", dedup_key="k", subject="s", body="b")
    await add_automation(connection)
    await add_sale(connection, "sold")
    await add_sale(connection, "draft", state="draft")

    doubts = await doubt(connection)

    assert (doubts.mails, doubts.sales, doubts.accounts) == (1, 1, ["ann"])
    assert [(rule["account"], rule["name"]) for rule in doubts.automations] == [("ann", "daily")]
    assert await rows(connection, "select state from mail") == [{"state": "unconfirmed"}]
    assert await rows(connection, "select enabled from automation") == [{"enabled": False}]
    sales = await rows(connection, "select post_id, state from sale order by post_id desc")
    assert [(sale["post_id"], sale["state"]) for sale in sales] == [("sold", "failed"), ("draft", "waiting")]
    again = await doubt(connection)
    assert (again.mails, again.sales, again.automations) == (0, 0, [])


async def test_x1_numbers_of_the_lost_time_are_not_given_out_again(connection: AsyncConnection) -> None:
    shelf = await Shelf.set_up(connection)
    before = await shelf.store(connection, RELEASE, number="1", upload_id="a")
    await doubt(connection)
    assert await shelf.store(connection, RELEASE, number="2", upload_id="b") > before + 99_999


@pytest.mark.parametrize("silent", [True, False])
async def test_x1_silence_is_kept_about_what_was_owed_and_what_is_found(
    connection: AsyncConnection, silent: bool
) -> None:
    shelf = await Shelf.set_up(connection)
    await shelf.follower(connection, "ann", mode="hourly")
    told = await shelf.store(connection, RELEASE, number="1", upload_id="a")
    await tell(connection, told, RELEASE)
    await connection.execute(text("update logical_chapter set announce = 'done', announced_at = now()"))
    await shelf.store(connection, RELEASE, number="2", upload_id="b")
    await connection.execute(
        text("update source set first_synced_at = now(), last_success_at = now(), next_check_at = now()")
    )
    await connection.execute(
        text("""insert into source (id, site, site_key, url, title, first_synced_at)
                values ('blog', 'feed', 'f', 'https://f.test', 'Blog', now())""")
    )

    doubts = await doubt(connection, silent=silent)

    assert (doubts.sources_read_anew, doubts.chapters_silenced) == ((1, 2) if silent else (0, 0))
    chapters = await rows(connection, "select announce from logical_chapter order by id")
    assert [row["announce"] for row in chapters] == ["done", "silent" if silent else "owed"]
    [digest] = await rows(connection, "select mode from notification")
    assert digest["mode"] == ("dropped" if silent else "hourly")
    unread = await rows(connection, "select site from source where first_synced_at is null")
    assert [row["site"] for row in unread] == ["x"] * silent
    assert len(await to_read_anew(connection, 10)) == silent
