"""How people want to be told (C8): delay, read check, modes, caps, languages, preferred source, digests."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import TimeSkipper, TimeSkippingConfig

from fascicle.domain.names import MAIN_QUEUE, new_id, notify_workflow_id
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from simulator.faults import Fault
from simulator.series import Series
from tests.harness import Harness, eventually


async def followed(stack: Harness, *names: str, languages: list[str] | None = None) -> tuple[Series, Any]:
    series = stack.series(chapters=3, languages=tuple(languages or ["en"]))
    source = await stack.add_and_sync(series, languages=languages)
    for name in names:
        await stack.follow(name, source["series_id"])
    return series, source


async def wish(stack: Harness, name: str, **wishes: Any) -> None:
    async with transaction(stack.dependencies.engine) as connection:
        user_id = await library.find_user(connection, name)
        assert user_id is not None
        await library.set_wishes(connection, user_id, wishes)


async def wish_of_series(stack: Harness, name: str, source: dict[str, Any], **wishes: Any) -> None:
    async with transaction(stack.dependencies.engine) as connection:
        user_id = await library.find_user(connection, name)
        assert user_id is not None
        assert await library.set_entry(connection, user_id, source["series_id"], wishes)


async def told(stack: Harness, source: dict[str, Any]) -> list[str]:
    """Who got a message, after a poll and all that follows from it."""
    await stack.poll(source)
    await stack.all_quiet()
    return sorted(message.name for message in stack.simulator.sink.messages())


async def send_digests(stack: Harness) -> dict[str, Any]:
    handle = await stack.client.start_workflow(
        "DigestWorkflow", id=f"digests-{new_id()}", task_queue=MAIN_QUEUE
    )
    result: dict[str, Any] = await handle.result()
    return result


async def let_the_hour_come(stack: Harness) -> None:
    await stack.execute("update notification set digest_at = now() - interval '1 second'")


@pytest.mark.parametrize("overrides", [{"notify_delay_seconds": 600}])
async def test_c8_two_sources_of_one_chapter_tell_once_with_the_preferred_link(
    harness: Harness, client: Client
) -> None:
    skipper = TimeSkipper(client, config=TimeSkippingConfig(enabled=False))
    harness.client = skipper.client
    async with harness.workers():
        series, source = await followed(harness, "ann", "bob")
        second = harness.series("Lanterns, official", chapters=3)
        other = await harness.add_and_sync(second, series=source["series_id"])
        await wish_of_series(harness, "bob", source, preferred_source=other["id"])
        harness.release(series)
        await harness.poll(source)
        await eventually(lambda: harness.value("select 1 from logical_chapter where announce = 'owed'"))
        link = harness.release(second, chapter="4").id
        await harness.poll(other)
        await eventually(lambda: harness.value("select 1 from chapter_source having count(*) = 8"))
        assert harness.simulator.sink.messages() == []
        chapter = await harness.value("select id from logical_chapter where announce = 'owed'")
        handle = client.get_workflow_handle(notify_workflow_id(source["series_id"], chapter))
        await skipper.fast_forward(handle, timedelta(minutes=10))
        await harness.all_quiet()
        messages = {m.name: m for m in harness.simulator.sink.messages()}
        assert len(harness.simulator.sink.messages()) == 2
        assert link in messages["bob"].message
        assert link not in messages["ann"].message


async def test_c8_who_has_read_it_is_not_told(stack: Harness) -> None:
    series, source = await followed(stack, "ann", "bob")
    await stack.execute(
        """update library_entry set read_number = 4
           where user_id = (select id from app_user where name = 'ann')"""
    )
    stack.release(series)
    assert await told(stack, source) == ["bob"]
    stack.release(series)
    assert await told(stack, source) == ["ann", "bob", "bob"]


async def test_c8_off_and_one_series_otherwise(stack: Harness) -> None:
    series, source = await followed(stack, "ann", "bob", "cleo")
    await wish(stack, "ann", mode="off")
    await wish(stack, "bob", mode="off")
    await wish_of_series(stack, "bob", source, mode="immediate")
    stack.release(series)
    assert await told(stack, source) == ["bob", "cleo"]


async def test_c8_a_digest_is_one_message_about_everything_not_read_yet(stack: Harness) -> None:
    series, source = await followed(stack, "ann")
    await wish(stack, "ann", mode="daily")
    for _ in range(3):
        stack.release(series)
    assert await told(stack, source) == []
    assert (await send_digests(stack))["digests"] == 0, "the hour has not come"
    await stack.execute("update library_entry set read_number = 4")
    await let_the_hour_come(stack)
    assert await send_digests(stack) == {"digests": 1, "sent": 1, "failed": 0, "unconfirmed": 0}
    assert (await send_digests(stack))["sent"] == 0
    [message] = stack.simulator.sink.messages("ann")
    assert message.title == "2 new chapters of Lanterns"
    assert "Lanterns 5" in message.message
    assert "Lanterns 6" in message.message
    assert await stack.value("select count(*) from notification where mode = 'dropped'") == 1


async def test_c8_beyond_the_cap_the_rest_becomes_a_digest(stack: Harness) -> None:
    series, source = await followed(stack, "ann")
    await wish(stack, "ann", daily_cap=1)
    for _ in range(3):
        stack.release(series)
    assert await told(stack, source) == ["ann"]
    assert await stack.value("select count(*) from notification where mode = 'daily'") == 2
    await let_the_hour_come(stack)
    await send_digests(stack)
    assert [m.title for m in stack.simulator.sink.messages("ann")][1:] == ["2 new chapters of Lanterns"]


async def test_c8_a_digest_is_retried_per_recipient_and_never_doubled(stack: Harness) -> None:
    series, source = await followed(stack, "ann", "bob")
    for name in ("ann", "bob"):
        await wish(stack, name, mode="hourly")
    stack.simulator.faults.add(Fault(path="/sink/bob", status=503, count=1))
    stack.release(series)
    assert await told(stack, source) == []
    await let_the_hour_come(stack)
    assert (await send_digests(stack))["sent"] == 2
    assert sorted(m.name for m in stack.simulator.sink.messages()) == ["ann", "bob"]


async def test_x1_a_digest_whose_sender_died_is_a_doubt_not_a_double(stack: Harness) -> None:
    series, source = await followed(stack, "ann")
    await wish(stack, "ann", mode="hourly")
    stack.release(series)
    await told(stack, source)
    await let_the_hour_come(stack)
    stack.simulator.faults.add(Fault(path="/sink/ann", status=503))
    assert (await send_digests(stack))["failed"] == 1
    await stack.execute("update delivery set state = 'sending'")
    stack.simulator.faults.clear()
    assert (await send_digests(stack))["unconfirmed"] == 1
    assert stack.simulator.sink.messages() == []
    assert await stack.value("select error_code from dead_letter where job_key = :id", id="1")


async def test_c8_nobody_is_told_of_a_language_they_do_not_read(stack: Harness) -> None:
    series, source = await followed(stack, "ann", "fleur", languages=["en", "fr"])
    await wish(stack, "fleur", languages=["fr"])
    stack.release(series, chapter="4", language="en")
    assert await told(stack, source) == ["ann"]
    await stack.follow("late", source["series_id"])
    await wish(stack, "late", languages=["de", "en"])
    link = stack.release(series, chapter="4", language="fr").id
    assert await told(stack, source) == ["ann", "fleur"], "the French one is news to her alone"
    [message] = stack.simulator.sink.messages("fleur")
    assert link in message.message
    stack.release(series, chapter="4", language="fr")
    assert await told(stack, source) == ["ann", "fleur"]


async def test_c8_an_old_chapter_that_gets_translated_is_news_to_those_who_waited_for_it(
    stack: Harness,
) -> None:
    series, source = await followed(stack, "ann", "fleur", languages=["en", "fr"])
    await stack.execute("delete from chapter_upload where language = 'fr'")
    await stack.execute("update source set languages = '{en}'")
    for upload in [u for u in series.uploads if u.language == "fr"]:
        stack.simulator.world.withdraw(upload.id)
    await stack.execute("update source set languages = '{en,fr}'")
    await wish(stack, "fleur", languages=["fr"])
    stack.release(series, chapter="2", language="fr")
    assert await told(stack, source) == ["fleur"]
