import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from simulator.releaser import Releaser
from simulator.server import RunningSimulator
from simulator.simulation import Simulation
from simulator.specs import SeriesSpec
from simulator.world import World


class Clock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 16, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


def test_ongoing_series_take_turns() -> None:
    world = World()
    world.add_series(SeriesSpec(title="A", chapters=3))
    world.add_series(SeriesSpec(title="Over", chapters=3, status="completed"))
    world.add_series(SeriesSpec(title="B", chapters=8))
    releaser = Releaser(world, 1)
    released = [releaser.release_next()[0] for _ in range(4)]
    titles = [world.series[upload.series_id].title for upload in released]
    assert list(zip(titles, [upload.chapter for upload in released], strict=True)) == [
        ("A", "4"),
        ("B", "9"),
        ("A", "5"),
        ("B", "10"),
    ]


def test_a_chapter_comes_in_every_language() -> None:
    world = World()
    world.add_series(SeriesSpec(title="A", languages=("en", "fr"), resets=True, chapters=10))
    uploads = Releaser(world, 1).release_next()
    assert [(upload.volume, upload.chapter, upload.language) for upload in uploads] == [
        ("2", "1", "en"),
        ("2", "1", "fr"),
    ]


def test_an_empty_world_releases_nothing() -> None:
    assert Releaser(World(), 1).release_next() == []


@pytest.mark.parametrize(("elapsed", "wait"), [(0, 60), (45, 15), (60, 0), (4000, 0), (-500, 60)])
def test_next_release_is_due_after_the_last_one(elapsed: int, wait: int) -> None:
    clock = Clock()
    world = World(clock)
    world.last_release_at = clock.moment
    clock.moment += timedelta(seconds=elapsed)
    assert Releaser(world, 60).seconds_until_due() == wait


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = Simulation.begin("demo", path)
    once = Releaser(first.world, 60).release_next()[0]
    second = Simulation.begin("demo", path)
    assert second.world.last_release_at == first.world.last_release_at
    again = Releaser(second.world, 60).release_next()[0]
    assert again.series_id != once.series_id
    assert len(second.world.series[once.series_id].uploads) == len(first.world.series[once.series_id].uploads)


async def test_releases_while_the_simulator_runs() -> None:
    with RunningSimulator("demo", release_every=0.05) as simulator:
        before = len(simulator.feeds.all_entries())
        async with asyncio.timeout(5):
            while simulator.world.releases_made < 5:
                await asyncio.sleep(0.02)
        assert len(simulator.feeds.all_entries()) > before
