"""SourceWorkflow against the real servers and the simulator: what is new, and what is not."""

from datetime import UTC, datetime, timedelta

from simulator.specs import UploadSpec
from tests.harness import Harness, eventually


async def test_c7_first_sync_stores_history_and_tells_nobody(stack: Harness) -> None:
    series = stack.series(chapters=200)
    source = await stack.add(series)
    await stack.follow("ann", source["series_id"])
    await eventually(lambda: stack.source_value(source["id"], "first_synced_at"))
    assert await stack.chapter_count() == 200
    assert await stack.value("select count(*) from notification") == 0
    assert stack.simulator.sink.messages() == []


async def test_c7_unless_asked_for(stack: Harness) -> None:
    source = await stack.add(stack.series(chapters=3), announce_history=True)
    await stack.follow("ann", source["series_id"])
    await eventually(lambda: stack.source_value(source["id"], "first_synced_at"))
    await stack.all_quiet()
    assert len(stack.simulator.sink.messages("ann")) == 3


async def test_c3_c8_a_new_chapter_is_ingested_once_and_told_once(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.follow("bob", source["series_id"])
    stack.release(series, title="The Fourth")
    await stack.poll(source)
    await stack.messages(2)
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4
    assert sorted(m.name for m in stack.simulator.sink.messages()) == ["ann", "bob"]
    assert stack.simulator.sink.messages("ann")[0].title == "Lanterns: Chapter 4"


async def test_c4_the_same_chapter_from_two_sources_is_told_once(stack: Harness) -> None:
    first = stack.series("Lanterns", chapters=3)
    second = stack.series("Lanterns, coloured", chapters=3)
    source = await stack.add_and_sync(first)
    other = await stack.add_and_sync(second, series=source["series_id"])
    await stack.follow("ann", source["series_id"])
    stack.release(first, chapter="4")
    stack.release(second, chapter="4.0")
    for handle in (stack.workflow(source), stack.workflow(other)):
        await handle.signal("poll_now")
    await eventually(lambda: _sources_of(stack, "4", 2))
    await stack.all_quiet()
    assert await stack.chapter_count() == 4
    assert len(stack.simulator.sink.messages("ann")) == 1


async def _sources_of(stack: Harness, key: str, count: int) -> bool:
    found = await stack.value("select count(*) from chapter_source where chapter_key = :key", key=key)
    return bool(found == count)


async def test_c7_what_a_second_source_knows_first_is_news(stack: Harness) -> None:
    """The new source's history is silent, but not the chapter that the first one has not seen yet."""
    first = stack.series("Lanterns", chapters=3)
    second = stack.series("Lanterns, elsewhere", chapters=3)
    source = await stack.add_and_sync(first)
    await stack.follow("ann", source["series_id"])
    stack.release(second, chapter="4")
    await stack.add_and_sync(second, series=source["series_id"])
    await stack.all_quiet()
    assert [m.title for m in stack.simulator.sink.messages("ann")] == ["Lanterns: Chapter 4"]


async def test_c4_a_poll_again_moves_only_timestamps(stack: Harness) -> None:
    source = await stack.add_and_sync(stack.series(chapters=5))
    sql = """select jsonb_build_array(
        (select jsonb_agg(to_jsonb(c) - 'updated_at' order by id) from logical_chapter c),
        (select jsonb_agg(to_jsonb(s) - 'last_seen_at' order by id) from chapter_source s),
        (select jsonb_agg(to_jsonb(u) - 'last_seen_at' order by upload_id) from chapter_upload u))"""
    before = await stack.value(sql)
    checked = await stack.source_value(source["id"], "last_success_at")
    await stack.poll(source)
    assert await stack.value(sql) == before
    assert await stack.source_value(source["id"], "last_success_at") > checked


async def test_c5_another_groups_upload_is_an_alternative_not_a_chapter(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    stack.release(series, chapter="3", groups=("Slow Scans",))
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.value("select count(*) from chapter_upload where chapter_key = '3'") == 2
    assert await stack.chapter_count() == 3
    assert stack.simulator.sink.messages() == []
    assert not [w async for w in stack.client.list_workflows("WorkflowType = 'IngestChapterWorkflow'")
                if source["id"] in w.id]  # fmt: skip


async def test_c3_a_page_full_of_alternatives_does_not_hide_a_chapter(stack: Harness) -> None:
    """A group uploads the whole back catalogue again, on top of the new chapter."""
    series = stack.series(chapters=110)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    stack.release(series, chapter="111", created_at=datetime.now(UTC) - timedelta(minutes=5))
    for number in range(1, 108):
        stack.release(series, chapter=str(number), groups=("Again Scans",))
    await stack.poll(source)
    await stack.messages(1)
    assert await stack.chapter_count() == 111


async def test_c5_a_number_corrected_upstream_is_followed_silently(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    upload = stack.release(series, chapter="44")
    await stack.poll(source)
    await stack.messages(1)
    stack.simulator.world.revise(upload.id, UploadSpec(chapter="4"))
    await stack.poll(source)
    await stack.all_quiet()
    assert (
        await stack.value("select chapter_key from chapter_upload where upload_id = :id", id=upload.id) == "4"
    )
    assert len(stack.simulator.sink.messages()) == 1


async def test_c7_more_than_a_handful_is_stored_in_one_batch_and_still_told(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    for _ in range(15):
        stack.release(series)
    old = datetime.now(UTC) - timedelta(days=400)
    for number in range(100, 120):
        stack.release(series, chapter=str(number), created_at=old)
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 38
    assert len(stack.simulator.sink.messages("ann")) == 15, "the news is told, the history filled in is not"
    ingests = [w async for w in stack.client.list_workflows("WorkflowType = 'IngestChapterWorkflow'")]
    assert not [w for w in ingests if source["id"] in w.id]


async def test_c12_a_chapter_that_vanished_is_flagged_after_a_complete_listing(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    stack.simulator.world.withdraw(series.uploads[1].id)
    flagged = "select array_agg(chapter_key) from chapter_source where unavailable_at is not null"
    await stack.poll(source)
    assert await stack.value(flagged) is None, "a look at the newest proves nothing"
    await stack.execute("update source set complete_listing_at = now() - interval '9 days'")
    await stack.poll(source)
    assert await stack.value(flagged) == ["2"]
    assert await stack.chapter_count() == 3


async def test_c12_an_empty_answer_is_not_taken_for_the_truth(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    for upload in list(series.uploads):
        stack.simulator.world.withdraw(upload.id)
    await stack.execute("update source set complete_listing_at = now() - interval '9 days'")
    await stack.poll(source)
    assert await stack.value("select count(*) from chapter_source where unavailable_at is not null") == 0


async def test_x1_a_chapter_temporal_calls_done_but_the_database_lacks_is_brought_in(stack: Harness) -> None:
    """As after restoring an older backup: the ingest ids are used up, the rows are gone."""
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    stack.release(series)
    await stack.poll(source)
    await stack.all_quiet()
    await stack.execute("delete from chapter_upload where chapter_key = '4'")
    await stack.execute("delete from logical_chapter where chapter_key = '4'")
    await stack.poll(source)
    await stack.poll(source)
    await eventually(lambda: _sources_of(stack, "4", 1))
