"""The demo's works: some that match its rule, one that does not, a series of three."""

from simulator.ao3.archive import Archive
from simulator.ao3.records import Ao3SeriesSpec, WorkSpec

ONE_SHOT = 71_000_001
LONG_WORK = 71_000_002
OTHER_PAIRING = 71_000_003
SERIES = 4_200_001
SERIES_WORKS = (71_000_011, 71_000_012, 71_000_013)

_PAIRING = "Castiel/Dean Winchester"
_WORKS = (
    WorkSpec(
        id=ONE_SHOT,
        title="A Field Guide to Roadside Diners",
        authors=("pie_cartographer",),
        relationships=(_PAIRING,),
        characters=("Castiel (Supernatural)", "Dean Winchester"),
        tags=("Fluff", "Road Trips", "Pie"),
        categories=("M/M",),
        rating="Teen And Up Audiences",
        words=6_480,
        summary="<p>Every diner between Sioux Falls and the sea, rated. Dean objects to <em>two</em>.</p>",
    ),
    WorkSpec(
        id=LONG_WORK,
        title="The Beekeeper's Almanac",
        authors=("hivemind", "lantern_oil"),
        relationships=(_PAIRING, "Dean Winchester & Sam Winchester"),
        characters=("Castiel (Supernatural)", "Dean Winchester", "Sam Winchester"),
        tags=("Slow Burn", "Beekeeping", "Post-Canon"),
        categories=("M/M",),
        rating="Mature",
        words=48_250,
        chapters=12,
        chapters_total=None,
        summary="<p>Twelve months, one hive, and a man who does not garden.</p>",
    ),
    WorkSpec(
        id=OTHER_PAIRING,
        title="Letters from the Second Floor",
        authors=("quiet_hours",),
        relationships=("Eileen Leahy/Sam Winchester", "Castiel & Dean Winchester"),
        characters=("Eileen Leahy", "Sam Winchester"),
        tags=("Epistolary",),
        categories=("F/M",),
        words=9_120,
        summary="<p>The library has two floors and one working lamp.</p>",
    ),
)
_SERIES_TITLES = ("Unsalted", "Ground Rules", "A Spare Key")


def add_demo_works(archive: Archive) -> None:
    with archive.changing():
        for work in (*_WORKS, *_works_of_the_series()):
            archive.add_work(work.model_copy(update={"fandoms": ("Supernatural",)}))
        archive.add_series(
            Ao3SeriesSpec(
                id=SERIES,
                title="House Rules for Former Angels",
                authors=("spare_feathers",),
                summary="<p>Three evenings in a house with too many warding sigils.</p>",
                works=SERIES_WORKS,
            )
        )


def _works_of_the_series() -> list[WorkSpec]:
    return [
        WorkSpec(
            id=work_id,
            title=title,
            authors=("spare_feathers",),
            relationships=(_PAIRING,),
            characters=("Castiel (Supernatural)", "Dean Winchester"),
            tags=("Domestic",),
            categories=("M/M",),
            words=2_000 + 750 * number,
            summary=f"<p>House rule number {number}.</p>",
        )
        for number, (work_id, title) in enumerate(zip(SERIES_WORKS, _SERIES_TITLES, strict=True), start=1)
    ]
