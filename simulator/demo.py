"""The world of the demo: six invented series with the oddities of real ones, one of them on two sites."""

from datetime import timedelta

from simulator.series import Series
from simulator.specs import SeriesSpec, UploadSpec
from simulator.world import World

DAY_HOURS = 24
WEEK_HOURS = 7 * DAY_HOURS

LAMPLIGHTER = SeriesSpec(
    title="The Lamplighter's Apprentice",
    chapters=48,
    sites=("mangadex", "inkpages"),
    chapters_per_volume=8,
    groups=("Inkwell Night School",),
    alt_titles=({"ja-ro": "Akari no Deshi"}, {"fr": "L'Apprentie de l'allumeur"}),
    description={"en": "Someone has to light the lamps of a city that forgets its own streets overnight."},
    demographic="shounen",
    year=2024,
    tags=("Adventure", "Fantasy"),
    author="Mio Harrowgate",
)
SALT = SeriesSpec(
    title="Salt and Circuitry",
    chapters=36,
    languages=("en", "fr", "pt-br"),
    release_interval_hours=3 * DAY_HOURS,
    groups=("Tidewater Scans",),
    description={"en": "A retired android opens a fish restaurant; the sea wants a word."},
    demographic="seinen",
    year=2025,
    tags=("Comedy", "Slice of Life"),
    author="Teo Brandvik",
)
KETTLES = SeriesSpec(
    title="Nine Kettles for the Moon",
    chapters=30,
    groups=("Lantern Post",),
    description={"en": "A tea house on the dark side receives its first guest in a century."},
    demographic="josei",
    year=2025,
    tags=("Drama",),
    author="Sunniva Okafor",
)
HARBOUR = SeriesSpec(
    title="Paper Harbour",
    chapters=24,
    release_interval_hours=2 * WEEK_HOURS,
    groups=("Foldline",),
    official_links={"engtl": "https://reader.example.org/paper-harbour"},
    description={"en": "Every ship here is folded, and it has begun to rain."},
    year=2025,
    tags=("Mystery",),
    author="Ilse Marchetti",
)
GRAVITY = SeriesSpec(
    title="Gravity Is a Rumour",
    chapters=26,
    resets=True,
    chapters_per_volume=6,
    groups=("Updraft Letters",),
    description={"en": "Postal pilots of a floating archipelago, one season a volume."},
    demographic="shoujo",
    year=2026,
    tags=("Adventure", "Romance"),
    author="Pax Lindqvist",
)
TRAM = SeriesSpec(
    title="The Last Tram to Yonder",
    chapters=20,
    release_interval_hours=4 * WEEK_HOURS,
    status="hiatus",
    groups=("Depot Seven",),
    description={"en": "The night tram stops at places that closed years ago."},
    content_rating="suggestive",
    year=2023,
    tags=("Horror",),
    author="Coralie Voss",
)


def add_demo_series(world: World) -> None:
    with world.changing():
        world.add_series(LAMPLIGHTER)
        world.add_series(SALT)
        _add_second_group(world, world.add_series(KETTLES))
        _add_official_links(world, world.add_series(HARBOUR))
        world.add_series(GRAVITY)
        _add_prologue(world, world.add_series(TRAM))


def _add_second_group(world: World, series: Series) -> None:
    """Add the newest chapters by a second group, a half chapter, and a oneshot without a number."""
    for first in series.uploads[-8:]:
        later = first.created_at + timedelta(hours=9)
        world.release(
            series.id, UploadSpec(chapter=first.chapter, groups=("Midnight Oil",), created_at=later)
        )
    tenth = series.uploads[9].created_at
    world.release(
        series.id,
        UploadSpec(chapter="10.5", title="The Tenth Kettle", created_at=tenth + timedelta(days=2)),
        UploadSpec(chapter=None, title="Oneshot", groups=(), created_at=tenth + timedelta(days=5)),
    )


def _add_official_links(world: World, series: Series) -> None:
    """Add the newest chapters as links to the publisher, and one upload that is no longer readable."""
    for scan in series.uploads[-5:]:
        address = f"https://reader.example.org/paper-harbour/{scan.chapter}"
        official = UploadSpec(
            chapter=scan.chapter,
            title=f"Fold {scan.chapter}",
            groups=("Harbour Press",),
            external_url=address,
            created_at=scan.created_at + timedelta(days=1),
        )
        world.release(series.id, official)
    world.revise(series.uploads[3].id, UploadSpec(is_unavailable=True, updated_at=world.now()))


def _add_prologue(world: World, series: Series) -> None:
    """Add a prologue numbered 0.1 to 0.9 and then 0.10, which must not count as 0.1."""
    start = series.uploads[0].created_at - timedelta(days=30)
    for part in range(1, 11):
        moment = start + timedelta(days=2 * part)
        world.release(series.id, UploadSpec(chapter=f"0.{part}", title="", volume="0", created_at=moment))
