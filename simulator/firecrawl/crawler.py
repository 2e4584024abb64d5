"""The state behind the simulated Firecrawl."""

from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.metered import Service


class Crawler(Service[FirecrawlOptions, ScrapeScript, ScrapeCall]):
    """Every call is in the ledger: which address was asked for, what it cost, whether it arrived."""

    def __init__(self) -> None:
        super().__init__(FirecrawlOptions())
