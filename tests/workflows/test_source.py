"""SourceWorkflow against the real servers and the simulator."""

from tests.harness import Harness, eventually


async def test_c7_first_sync_stores_history_and_tells_nobody(stack: Harness) -> None:
    series = stack.series(chapters=200)
    source = await stack.add(series)
    await stack.follow("ann", source["series_id"])
    await eventually(lambda: stack.source_value(source["id"], "first_synced_at"))
    assert await stack.chapter_count() == 200
    assert await stack.value("select count(*) from notification") == 0
    assert stack.simulator.sink.messages() == []


async def test_c3_c8_a_new_chapter_is_ingested_once_and_told_once(stack: Harness) -> None:
    series = stack.series(chapters=3)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    await stack.follow("bob", source["series_id"])
    stack.release(series, title="The Fourth")
    await stack.poll(source)
    await eventually(lambda: _told(stack, 2))
    await stack.poll(source)
    await stack.all_quiet()
    assert await stack.chapter_count() == 4
    assert sorted(m.name for m in stack.simulator.sink.messages()) == ["ann", "bob"]
    assert stack.simulator.sink.messages("ann")[0].title == "Lanterns: Chapter 4"


async def _told(stack: Harness, count: int) -> bool:
    return len(stack.simulator.sink.messages()) >= count
