"""The demo's shelf: three hundred short, completed series to test an import with."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import product
from random import Random

from simulator.specs import SeriesSpec, UploadSpec
from simulator.world import World

SIZE = 300

_WHICH = """Amber Borrowed Clockwork Drowsy Eleventh Feral Glass Hollow Indigo Jagged
Kindly Luminous Midwinter Nameless Orchard Pocket Quiet Rusted Sleepless Tidal"""
_WHAT = """Almanac Bakery Cartographer Detective Embassy Ferry Gardeners Herald Inn Jury
Kite Librarian Mountain Neighbours Observatory Pilgrim Quarry Rainmaker Satellite Teahouse"""
_WHERE = ("", "at Low Tide", "of Thistle Lane", "Without a Map", "on Platform Nine")


def add_shelf(world: World) -> None:
    with world.changing():
        for spec in shelf(world.now()):
            world.add_series(spec)


def shelf(now: datetime) -> Iterator[SeriesSpec]:
    """Always the same series; they were monthly and ended two years before `now`."""
    chance = Random(300)  # noqa: S311
    parts = product(_WHICH.split(), _WHAT.split(), _WHERE)
    names = [f"The {which} {what} {where}".strip() for which, what, where in parts]
    for number, title in enumerate(chance.sample(names, SIZE), start=1):
        count = chance.randint(3, 12)
        first = now - timedelta(days=2 * 365 + 30 * count)
        chapters = (
            UploadSpec(chapter=str(n), created_at=first + timedelta(days=30 * n)) for n in range(1, count + 1)
        )
        yield SeriesSpec(
            title=title,
            chapters=tuple(chapters),
            status="completed",
            groups=("Backlist Press",),
            links={"al": str(900_000 + number), "mal": str(800_000 + number)},
            year=2020 + number % 5,
        )
