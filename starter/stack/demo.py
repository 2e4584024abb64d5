"""The demo: simulated upstreams, some series, and a reader who follows them."""

import asyncio
from pathlib import Path

from temporalio.client import Client

from fascicle.services.dependencies import Dependencies
from fascicle.services.series.onboarding import Onboarded, add_source
from fascicle.storage.database import transaction
from fascicle.storage.series import library
from simulator.client import SeriesSummary, SimulatorControl
from starter.stack.demo_art import show_art
from starter.stack.demo_feeds import show_feeds
from starter.stack.demo_fics import add_reader, show_fics
from starter.stack.demo_requests import show_requests

READER = "reader"


async def onboard_demo(dependencies: Dependencies, client: Client, simulator_url: str) -> int:
    """Add the running series of the simulator and a reader who follows them. Safe to repeat."""
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
    """Add a source for each site that has the series, all for one series; returns the first source."""
    first, *others = series.pages.values()
    onboarded = await add_source(dependencies, client, first)
    for page in others:
        await add_source(dependencies, client, page, series=onboarded.source["series_id"])
    return onboarded


async def write_shelf(simulator_url: str, path: Path) -> int:
    """Write the addresses of the simulator's completed series, to try an import; returns their number."""
    async with SimulatorControl(simulator_url) as control:
        listed = [series for series in await control.series() if series.status == "completed"]
    lines = [f"# {len(listed)} completed series of the demo: fascicle source import {path}"]
    lines += [f"{series.site_url}  # {series.title}" for series in listed]
    await asyncio.to_thread(path.write_text, "\n".join(lines) + "\n", encoding="utf-8")
    return len(listed)
