"""The demo: upstreams of our own, a handful of series, a reader who follows them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import text
from temporalio.client import Client

from fascicle.runtime.dependencies import Dependencies
from fascicle.storage import library
from fascicle.storage.database import transaction
from simulator.client import SimulatorControl
from starter.onboarding import add_source

READER = "reader"

# Fast enough to watch; what the environment says wins.
_RHYTHM = {
    "FASCICLE_MANGADEX_INTERVAL_SECONDS": "0.1",
    "FASCICLE_CADENCE_HOT_SECONDS": "5",
    "FASCICLE_CADENCE_WARM_SECONDS": "10",
    # Three hundred series from the shelf must leave room for the six.
    "FASCICLE_CADENCE_COLD_SECONDS": "120",
    "FASCICLE_SWEEP_SECONDS": "2",
    "FASCICLE_NOTIFY_DELAY_SECONDS": "1",
    "FASCICLE_DIGEST_EVERY_SECONDS": "10",
}


def demo_environment(simulator_url: str, given: Mapping[str, str]) -> dict[str, str]:
    """Settings of the demo. Its series exist nowhere else, so the upstream is always its own."""
    return {
        "FASCICLE_MANGADEX_URL": f"{simulator_url}/mangadex",
        "FASCICLE_ALLOW_HOSTS": urlsplit(simulator_url).netloc,
        **{name: given.get(name, value) for name, value in _RHYTHM.items()},
    }


async def onboard_demo(dependencies: Dependencies, client: Client, simulator_url: str) -> int:
    """Add the running series of the simulator and a reader who follows them. Repeatable."""
    async with SimulatorControl(simulator_url) as control:
        listed = [series for series in await control.series() if series.status != "completed"]
    added = await asyncio.gather(*(add_source(dependencies, client, series.site_url) for series in listed))
    channel = simulator_url.replace("http://", "json://") + f"/sink/{READER}"
    async with transaction(dependencies.engine) as connection:
        reader, _ = await library.add_user(connection, READER)
        # The upstream may be on another port this time: the channel moves, it does not multiply.
        await connection.execute(
            text("update channel set url = :url where user_id = :id"), {"url": channel, "id": reader}
        )
        await library.add_channel(connection, reader, channel)
        for onboarded in added:
            await library.follow(connection, reader, onboarded.source["series_id"])
    return len(added)


async def write_shelf(simulator_url: str, path: Path) -> int:
    """The addresses of the simulator's completed series, to try an import with; how many they are."""
    async with SimulatorControl(simulator_url) as control:
        listed = [series for series in await control.series() if series.status == "completed"]
    lines = [f"# {len(listed)} completed series of the demo: fascicle source import {path}"]
    lines += [f"{series.site_url}  # {series.title}" for series in listed]
    await asyncio.to_thread(path.write_text, "\n".join(lines) + "\n", encoding="utf-8")
    return len(listed)
