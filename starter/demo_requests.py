"""The demo's page: somebody has it summarised, without a model, and is told."""

from temporalio.client import Client

from activities.request_desk import open_request_desk
from fascicle.domain.request import Asked
from fascicle.runtime.dependencies import Dependencies
from simulator.press.demo import DEMO_ARTICLE
from starter.demo_fics import READERS


async def show_requests(dependencies: Dependencies, client: Client, simulator_url: str) -> None:
    """Two ask for one page, by two addresses. Repeatable: a page that was summarised is not read again."""
    desk = open_request_desk(dependencies, client)
    page = f"{simulator_url}/press/articles/{DEMO_ARTICLE}"
    for reader, url in zip(READERS, (page, f"{page}?utm_source=newsletter"), strict=True):
        await desk.submit(Asked(url=url, user=reader))
