"""The control client's Firecrawl methods."""

from simulator.deviantart.client import Call
from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.metered.client import MeteredClient


class FirecrawlClient(MeteredClient[FirecrawlOptions, ScrapeScript, ScrapeCall]):
    def __init__(self, call: Call) -> None:
        super().__init__("firecrawl", call, FirecrawlOptions, ScrapeCall)
