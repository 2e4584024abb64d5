"""Data that no site should give: clear, contained, and the other sources unaffected (X7)."""

from simulator.faults import Fault
from simulator.specs import UploadSpec
from tests.harness import Harness, eventually


async def test_x7_thousands_of_uploads_of_one_number_are_one_chapter(stack: Harness) -> None:
    series = stack.series(chapters=1)
    with stack.simulator.world.changing():
        stack.simulator.world.release(series.id, *(UploadSpec(chapter="2") for _ in range(2_998)))
    source = await stack.add_and_sync(series)
    assert await stack.chapter_count() == 2
    assert await stack.value("select count(*) from chapter_upload") == 2_999
    await stack.follow("ann", source["series_id"])
    stack.release(series, chapter="3")
    await stack.poll(source)
    await stack.all_quiet()
    assert len(stack.simulator.sink.messages("ann")) == 1


async def test_x7_titles_with_control_characters_and_endless_ones_are_cleaned(stack: Harness) -> None:
    series = stack.series(chapters=1)
    source = await stack.add_and_sync(series)
    await stack.follow("ann", source["series_id"])
    row = stack.release(series, chapter="2")
    object.__setattr__(row, "title", "Ring\x07 the\x00 bell\x1b[31m " + "x" * 10_000)
    await stack.poll(source)
    await stack.all_quiet()
    title = await stack.value("select title from logical_chapter where chapter_key = '2'")
    assert title.isprintable()
    assert title.startswith("Ring  the  bell [31m")
    assert len(title) <= 500
    assert len(stack.simulator.sink.messages("ann")) == 1


async def test_c10_a_site_that_turns_bad_fails_alone(stack: Harness) -> None:
    """Answers of HTML instead of JSON open one circuit; the neighbour's rhythm is not disturbed."""
    bad, good = stack.series("Bad"), stack.series("Good")
    failing, working = await stack.add_and_sync(bad), await stack.add_and_sync(good)
    stack.simulator.faults.add(Fault(kind="html", path=f"/mangadex/manga/{bad.id}/feed"))
    for _ in range(5):
        await stack.poll(failing)
    assert (await stack.status(failing))["circuit"] == "open"
    stack.release(good)
    await stack.poll(working)
    await eventually(lambda: stack.value("select 1 from logical_chapter where chapter_key = '4'"))
    assert await stack.value("select error_code from dead_letter") == "bad_answer"
