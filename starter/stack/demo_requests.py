"""The demo's page: two readers have it summarised, without a model, and are notified."""

from temporalio.client import Client

from fascicle.domain.summaries.request import Asked
from fascicle.services.dependencies import Dependencies
from fascicle.services.summaries.requests import open_request_desk
from simulator.press.demo import DEMO_ARTICLE
from starter.stack.demo_fics import READERS


async def show_requests(dependencies: Dependencies, client: Client, simulator_url: str) -> None:
    """Ask for one page by two addresses. Safe to repeat: a summarised page is not read again."""
    desk = open_request_desk(dependencies, client)
    page = f"{simulator_url}/press/articles/{DEMO_ARTICLE}"
    for reader, url in zip(READERS, (page, f"{page}?utm_source=newsletter"), strict=True):
        await desk.submit(Asked(url=url, user=reader))
