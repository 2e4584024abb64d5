"""SweepWorkflow: one look at a site's list of news wakes exactly the sources that changed (C16)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import activities.series.sweep
from fascicle.storage.series import sweep as sweeps
from simulator.faults import Fault
from simulator.series import Series
from tests.harness import Harness, eventually

LATEST = "/mangadex/chapter"


@pytest.fixture
def overrides() -> dict[str, Any]:
    return {"sweep": True, "sweep_seconds": 0.2, "sweep_overlap_seconds": 60}


async def sweep_status(stack: Harness) -> dict[str, Any]:
    status: dict[str, Any] = await stack.client.get_workflow_handle("sweep-mangadex").query("status")
    return status


async def swept(stack: Harness, rounds: int = 2) -> None:
    """Until so many more sweeps are over."""
    before = (await sweep_status(stack))["rounds"]

    async def done() -> bool:
        return bool((await sweep_status(stack))["rounds"] > before + rounds)

    await eventually(done, what="sweeps")


async def relying_on_the_sweep(stack: Harness, upstream: Series) -> dict[str, Any]:
    """A source that has seen the sweep at work and looks only once a month by itself."""
    source = await stack.add_and_sync(upstream)
    await eventually(lambda: stack.value("select last_success_at from sweep"), what="a sweep")
    await stack.poll(source)
    assert "the sweep watches" in (await stack.status(source))["next_poll_reason"]
    return source


async def has_chapters(stack: Harness, count: int) -> None:
    async def there() -> bool:
        return await stack.chapter_count() == count

    await eventually(there, what=f"{count} chapters")


def looks(stack: Harness, upstream: Series) -> int:
    return len(stack.simulator.requests.matching(f"/mangadex/manga/{upstream.id}/feed"))


async def test_c16_a_release_wakes_its_source_and_no_other(stack: Harness) -> None:
    changed, quiet = stack.series("Changed"), stack.series("Quiet")
    source = await relying_on_the_sweep(stack, changed)
    await relying_on_the_sweep(stack, quiet)
    await stack.follow("ann", source["series_id"])
    before = looks(stack, quiet)
    stack.release(changed)
    await stack.messages(1)
    await swept(stack)
    assert looks(stack, quiet) == before
    assert len(stack.simulator.sink.messages("ann")) == 1
    # News fetched, the source relies on the sweep again; a second wake for them costs it one look of its own.
    await stack.poll(source)
    assert "the sweep watches" in (await stack.status(source))["next_poll_reason"]


# Rests long enough to be stopped at rest: what a stopped worker holds is given up only after 15 s.
@pytest.mark.parametrize("overrides", [{"sweep": True, "sweep_seconds": 2}])
async def test_c16_nothing_is_missed_when_more_than_a_page_came_while_it_was_down(harness: Harness) -> None:
    followed, others = harness.series("Followed"), harness.series("Others", chapters=1)
    async with harness.workers():
        await relying_on_the_sweep(harness, followed)
    harness.release(followed)
    for number in range(250):
        harness.release(others, chapter=str(number + 2))
    async with harness.workers():
        await has_chapters(harness, 4)
    pages = [r for r in harness.simulator.requests.matching(LATEST) if "offset=90" in r.query]
    assert pages


@pytest.mark.parametrize(
    "overrides",
    [{"sweep": True, "sweep_seconds": 0.2, "cadence_hot_seconds": 2, "cadence_warm_seconds": 600}],
)
async def test_c16_a_gap_wakes_everyone(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activities.series.sweep, "_MOST_PAGES", 1)
    followed, others = harness.series("Followed"), harness.series("Others", chapters=1)
    async with harness.workers():
        await relying_on_the_sweep(harness, followed)
    harness.release(followed)
    for number in range(120):
        harness.release(others, chapter=str(number + 2))
    await harness.execute("update sweep set cursor = jsonb_set(cursor, '{at}', '\"2020-01-01T00:00:00Z\"')")
    async with harness.workers():
        await has_chapters(harness, 4)


async def test_c16_a_crash_between_waking_and_noting_it_tells_nobody_twice(
    stack: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = stack.series()
    source = await relying_on_the_sweep(stack, upstream)
    await stack.follow("ann", source["series_id"])
    real = sweeps.record_success
    broken: list[bool] = []

    async def breaks_once(*arguments: Any) -> None:
        if stack.simulator.world.series[upstream.id].uploads[3:] and not broken:
            broken.append(True)
            raise ConnectionResetError("the database went away just now")
        await real(*arguments)

    monkeypatch.setattr(sweeps, "record_success", breaks_once)
    stack.release(upstream)
    await stack.messages(1)
    await swept(stack)
    await stack.all_quiet()
    assert broken
    assert len(stack.simulator.sink.messages("ann")) == 1
    assert await stack.chapter_count() == 4


async def test_c16_sources_keep_their_own_time_when_the_sweep_fails_and_rely_on_it_again(
    stack: Harness,
) -> None:
    source = await relying_on_the_sweep(stack, stack.series())
    stack.simulator.faults.add(Fault(path=LATEST, status=500))
    await eventually(lambda: _failures(stack, 3), what="three failed sweeps")
    await stack.poll(source)
    assert "the sweep watches" not in (await stack.status(source))["next_poll_reason"]
    assert await stack.value("select last_success_at from sweep") is None
    stack.simulator.faults.clear()
    await eventually(lambda: stack.value("select last_success_at from sweep"), what="a good sweep")
    await stack.poll(source)
    assert "the sweep watches" in (await stack.status(source))["next_poll_reason"]


async def _rests(stack: Harness) -> bool:
    return "nobody follows" in (await sweep_status(stack))["waiting_for"]


async def _failures(stack: Harness, at_least: int) -> bool:
    return bool((await stack.value("select failures from sweep")) >= at_least)


async def test_c16_paused_sources_and_pins_are_respected(stack: Harness) -> None:
    paused, pinned = stack.series("Paused"), stack.series("Pinned")
    source = await relying_on_the_sweep(stack, paused)
    other = await stack.add_and_sync(pinned)
    await stack.workflow(other).signal("set_priority", "HOT")
    await stack.poll(other)
    assert "sweep" not in (await stack.status(other))["next_poll_reason"]
    await stack.workflow(source).signal("pause", "holidays")
    await eventually(lambda: stack.source_value(source["id"], "paused_at"), what="the pause")
    before = looks(stack, paused)
    stack.release(paused)
    await swept(stack, 3)
    assert looks(stack, paused) == before


async def test_c16_it_rests_while_nobody_follows_and_stops_when_told(stack: Harness) -> None:
    source = await relying_on_the_sweep(stack, stack.series())
    await stack.execute("update source set removed_at = now()")
    await eventually(lambda: _rests(stack), what="rest")
    before = len(stack.simulator.requests.matching(LATEST))
    handle = stack.client.get_workflow_handle("sweep-mangadex")
    await handle.signal("sweep_now")
    await eventually(lambda: _rests(stack), what="rest")
    assert len(stack.simulator.requests.matching(LATEST)) == before
    await stack.execute("update source set removed_at = null")
    await handle.signal("stop")
    await handle.result()
    assert await stack.value("select last_success_at from sweep") is None
    # Sent back to its own time: within the four hours of a WARM source, not within a month.
    due = datetime.fromisoformat((await stack.status(source))["next_poll_at"])
    assert due < datetime.now(UTC) + timedelta(hours=4.5)
