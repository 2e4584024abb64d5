"""The state of the simulated Firecrawl."""

from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.metered import Service


class Crawler(Service[FirecrawlOptions, ScrapeScript, ScrapeCall]):
    """The ledger has every call: its address, its cost, whether its answer was sent."""

    def __init__(self) -> None:
        super().__init__(FirecrawlOptions())
