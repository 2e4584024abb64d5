"""The demo: upstreams of our own, a handful of series, a reader who follows them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from temporalio.client import Client

from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import library
from fascicle.storage.database import transaction
from simulator.client import SeriesSummary, SimulatorControl
from simulator.deviantart.records import Options
from simulator.deviantart.site import DeviantArt
from starter.demo_art import show_art
from starter.demo_feeds import show_feeds
from starter.demo_fics import add_reader, show_fics
from starter.demo_requests import show_requests
from starter.onboarding import Onboarded, add_source

READER = "reader"
# The worked examples of adapters are sites of the demo.
_ADAPTERS = Path(__file__).parents[1] / "sites.d"
_RULES = Path(__file__).parents[1] / "ship_rules.yaml"
_SITES = ("MANGADEX", "MANGAPLUS", "WEEBCENTRAL", "SITE_INKPAGES", "SITE_PANELBOX")

# Fast enough to watch; what the environment says wins.
_RHYTHM = {
    **{f"FASCICLE_{site}_INTERVAL_SECONDS": "0.1" for site in _SITES},
    "FASCICLE_CADENCE_HOT_SECONDS": "5",
    "FASCICLE_CADENCE_WARM_SECONDS": "10",
    # Three hundred series from the shelf must leave room for the six.
    "FASCICLE_CADENCE_COLD_SECONDS": "120",
    "FASCICLE_SWEEP_SECONDS": "2",
    "FASCICLE_NOTIFY_DELAY_SECONDS": "1",
    "FASCICLE_DIGEST_EVERY_SECONDS": "10",
    "FASCICLE_ACCOUNT_INTERVAL_SECONDS": "0.5",
    "FASCICLE_AUTOMATION_EVERY_SECONDS": "10",
    # An archive of our own: the real one is asked at most once in 20 seconds, whatever is set.
    "FASCICLE_AO3_INTERVAL_SECONDS": "2",
    "FASCICLE_AO3_THINK_SECONDS": "0,0.5",
    "FASCICLE_AO3_PAUSE_SECONDS": "5,10",
    "FASCICLE_FIC_INTERVAL_SECONDS": "0.5",
    "FASCICLE_FEED_INTERVAL_SECONDS": "0.1",
    "FASCICLE_FEED_MIN_SECONDS": "3",
    "FASCICLE_FEED_MAX_SECONDS": "6",
    "FASCICLE_ENRICH_INTERVAL_SECONDS": "0.2",
}


def demo_environment(simulator_url: str, given: Mapping[str, str]) -> dict[str, str]:
    """Settings of the demo. Its series exist nowhere else, so the upstreams are always its own."""
    return {
        **{f"FASCICLE_{s}_URL": f"{simulator_url}/{s.removeprefix('SITE_').lower()}" for s in _SITES},
        "FASCICLE_SITES_DIR": str(_ADAPTERS),
        "FASCICLE_DEVIANTART_URL": f"{simulator_url}{DeviantArt.prefix}",
        "FASCICLE_DEVIANTART_CLIENT_ID": Options().client_id,
        "FASCICLE_DEVIANTART_CLIENT_SECRET": Options().client_secret,
        "FASCICLE_AO3_URL": f"{simulator_url}/ao3",
        "FASCICLE_ROYALROAD_URL": f"{simulator_url}/royalroad",
        **{f"FASCICLE_{s}_URL": f"{simulator_url}/{s.lower()}" for s in ("YOUTUBE", "SPOTIFY", "SOUNDCLOUD")},
        "FASCICLE_SHIP_RULES": str(_RULES),
        "FASCICLE_ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        **{name: given.get(name, value) for name, value in _RHYTHM.items()},
    }


async def onboard_demo(dependencies: Dependencies, client: Client, simulator_url: str) -> int:
    """Add the running series of the simulator and a reader who follows them. Repeatable."""
    async with SimulatorControl(simulator_url) as control:
        listed = [series for series in await control.series() if series.status != "completed"]
    added = await asyncio.gather(*(_add_everywhere(dependencies, client, series) for series in listed))
    reader = await add_reader(dependencies, READER, simulator_url)
    async with transaction(dependencies.engine) as connection:
        for onboarded in added:
            await library.follow(connection, reader, onboarded.source["series_id"])
    await show_art(dependencies, client, simulator_url, reader)
    await show_fics(dependencies, client, simulator_url)
    await show_feeds(dependencies, client, simulator_url)
    await show_requests(dependencies, client, simulator_url)
    return len(added)


async def _add_everywhere(dependencies: Dependencies, client: Client, series: SeriesSummary) -> Onboarded:
    """A source for each site that carries the series, all of one series here; the first of them."""
    first, *others = series.pages.values()
    onboarded = await add_source(dependencies, client, first)
    for page in others:
        await add_source(dependencies, client, page, series=onboarded.source["series_id"])
    return onboarded


async def write_shelf(simulator_url: str, path: Path) -> int:
    """The addresses of the simulator's completed series, to try an import with; how many they are."""
    async with SimulatorControl(simulator_url) as control:
        listed = [series for series in await control.series() if series.status == "completed"]
    lines = [f"# {len(listed)} completed series of the demo: fascicle source import {path}"]
    lines += [f"{series.site_url}  # {series.title}" for series in listed]
    await asyncio.to_thread(path.write_text, "\n".join(lines) + "\n", encoding="utf-8")
    return len(listed)
