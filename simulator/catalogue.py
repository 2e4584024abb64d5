"""The series of the world that a site carries, with their keys and addresses."""

from collections.abc import Iterator
from datetime import datetime

from simulator.ids import numeric_id, short_id, slug, ulid
from simulator.series import Series, newest_first_key
from simulator.specs import SiteName
from simulator.upload import Upload
from simulator.world import World

PATHS: dict[SiteName, str] = {
    "mangadex": "/title/{key}",
    "mangaplus": "/titles/{key}",
    "weebcentral": "/series/{key}/{slug}",
    "inkpages": "/comic/{key}",
    "panelbox": "/series/{key}",
}


def series_key(site: str, series: Series) -> str:
    match site:
        case "mangaplus":
            return str(numeric_id(series.id))
        case "weebcentral":
            return ulid(series.id)
        case "inkpages":
            return f"{slug(series.title)}-{series.id[:4]}"
        case "panelbox":
            return short_id(series.id)
    return series.id


def find_series(world: World, site: str, key: str) -> Series | None:
    carried = (series for series in world.series.values() if site in series.about.sites)
    return next((series for series in carried if series_key(site, series) == key), None)


def latest_on(world: World, site: str, now: datetime) -> Iterator[Upload]:
    """All uploads that the site shows at `now`, newest first. Hold the world's lock."""
    newest_first = world.index.view(
        ("readable", site),
        newest_first_key,
        lambda upload: not upload.is_unavailable and site in upload.sites,
    )
    return (upload for upload in newest_first if upload.readable_at <= now)


def addresses(base_url: str, series: Series) -> dict[str, str]:
    """The series' page on each simulated site that carries it."""
    return {
        site: f"{base_url}/{site}"
        + PATHS[site].format(key=series_key(site, series), slug=slug(series.title) or "-")
        for site in series.about.sites
    }
