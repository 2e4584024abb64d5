"""The demo: upstreams of our own, a handful of series, a reader who follows them."""

import asyncio
from urllib.parse import urlsplit

from temporalio.client import Client

from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import library
from fascicle.storage.database import transaction
from simulator.client import SimulatorControl
from starter.onboarding import add_source

READER = "reader"


def demo_environment(simulator_url: str) -> dict[str, str]:
    """Settings of the demo: its own upstream, and a rhythm fast enough to watch."""
    return {
        "FASCICLE_MANGADEX_URL": f"{simulator_url}/mangadex",
        "FASCICLE_ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        "FASCICLE_MANGADEX_INTERVAL_SECONDS": "0.1",
        "FASCICLE_CADENCE_HOT_SECONDS": "5",
        "FASCICLE_CADENCE_WARM_SECONDS": "10",
        "FASCICLE_CADENCE_COLD_SECONDS": "20",
    }


async def onboard_demo(dependencies: Dependencies, client: Client, simulator_url: str) -> int:
    """Add every series of the simulator and a reader who follows them. Repeatable."""
    async with SimulatorControl(simulator_url) as control:
        listed = await control.series()
    added = await asyncio.gather(*(add_source(dependencies, client, series.site_url) for series in listed))
    channel = simulator_url.replace("http://", "json://") + f"/sink/{READER}"
    async with transaction(dependencies.engine) as connection:
        reader, _ = await library.add_user(connection, READER)
        await library.add_channel(connection, reader, channel)
        for onboarded in added:
            await library.follow(connection, reader, onboarded.source["series_id"])
    return len(added)
