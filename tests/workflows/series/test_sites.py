"""Several sites through the whole stack (C4, C8, C9, C13)."""

from pathlib import Path
from typing import Any

import pytest

from simulator.faults import Fault
from tests.harness import ADAPTERS, Harness, eventually

EVERYWHERE = ("mangadex", "mangaplus", "weebcentral", "inkpages", "panelbox")


async def test_c4_c8_a_chapter_that_comes_out_on_two_sites_is_told_once(stack: Harness) -> None:
    series = stack.series(chapters=3, sites=("mangadex", "inkpages"))
    source = await stack.add_and_sync(series)
    other = await stack.add_and_sync(series, site="inkpages", series=source["series_id"])
    for name in ("ann", "bob"):
        await stack.follow(name, source["series_id"])
    stack.release(series, title="The Fourth")
    for handle in (stack.workflow(source), stack.workflow(other)):
        await handle.signal("poll_now")
    await eventually(lambda: _sources_of(stack, "4", 2), what="the chapter from both sites")
    await stack.all_quiet()
    assert await stack.chapter_count() == 4
    told = [(m.name, m.title) for m in stack.simulator.sink.messages()]
    assert sorted(told) == [("ann", "Lanterns: Chapter 4"), ("bob", "Lanterns: Chapter 4")]


async def _sources_of(stack: Harness, key: str, count: int) -> bool:
    found = await stack.value("select count(*) from chapter_source where chapter_key = :key", key=key)
    return bool(found == count)


async def test_c13_every_site_yields_the_same_keys_and_the_same_news(stack: Harness) -> None:
    series = stack.series(chapters=5, sites=EVERYWHERE)
    first, *others = EVERYWHERE
    sources = [await stack.add_and_sync(series, site=first)]
    for site in others:
        sources.append(await stack.add_and_sync(series, site=site, series=sources[0]["series_id"]))
    assert await stack.chapter_count() == 5
    stack.release(series, chapter="5.5", title="Between")
    for source in sources:
        await stack.workflow(source).signal("poll_now")
    await eventually(lambda: _sources_of(stack, "5.5", len(EVERYWHERE)), what="the chapter from all sites")
    assert await stack.chapter_count() == 6


async def test_c12_what_mangaplus_closes_has_not_vanished(stack: Harness) -> None:
    series = stack.series(chapters=6, sites=("mangaplus",))
    source = await stack.add_and_sync(series, site="mangaplus")
    for _ in range(4):
        stack.release(series)
    await stack.poll(source)
    await eventually(lambda: _sources_of(stack, "10", 1), what="the newest chapter")
    await stack.execute("update source set complete_listing_at = null where id = :id", id=source["id"])
    await stack.poll(source)
    assert await stack.source_value(source["id"], "complete_listing_at")
    assert await stack.chapter_count() == 9, "1 to 6 and 8 to 10; by now 4 to 7 are closed"
    assert await stack.value("select count(*) from chapter_source where unavailable_at is not null") == 0


async def test_c9_a_site_that_turns_bad_fails_its_own_source_only(stack: Harness) -> None:
    series = stack.series(chapters=3, sites=("panelbox", "inkpages"))
    bad = await stack.add_and_sync(series, site="panelbox")
    good = await stack.add_and_sync(series, site="inkpages", series=bad["series_id"])
    await stack.follow("ann", bad["series_id"])
    stack.simulator.faults.add(Fault(path="/panelbox", kind="html"))
    stack.release(series)
    await stack.poll(bad)
    await stack.poll(good)
    await stack.messages(1)
    assert await stack.source_value(bad["id"], "failure_count") == 1
    assert await stack.source_value(good["id"], "failure_count") == 0
    stack.simulator.faults.clear()
    await stack.poll(bad)
    await stack.all_quiet()
    assert await stack.source_value(bad["id"], "failure_count") == 0
    assert len(stack.simulator.sink.messages("ann")) == 1


@pytest.fixture
def overrides(tmp_path: Path) -> dict[str, Any]:
    for file in ADAPTERS.glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text())
    return {"sites_dir": tmp_path}


async def test_c13_a_broken_adapter_fails_its_sources_with_a_reason_and_no_others(
    harness: Harness, tmp_path: Path
) -> None:
    series = harness.series(chapters=3, sites=("panelbox", "mangadex"))
    async with harness.workers():
        described = await harness.add_and_sync(series, site="panelbox")
        programmed = await harness.add_and_sync(series, series=described["series_id"])
    (tmp_path / "panelbox.yaml").write_text("name: panelbox\nbase_url: https://panelbox.example\n")
    settings = harness.dependencies.settings
    async with (
        harness.another(settings) as again,
        again.workers(),
    ):
        await again.poll(described)
        await again.poll(programmed)
        [letter] = await again.rows("select * from dead_letter")
        assert (letter["job_key"], letter["error_code"]) == (described["id"], "adapter_broken")
        assert "panelbox.yaml" in letter["error"]["message"]
        assert await again.source_value(programmed["id"], "failure_count") == 0
