"""The Firecrawl routes of the control API."""

from simulator.firecrawl.crawler import Crawler
from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.metered.control import MeteredControl


class FirecrawlControl(MeteredControl[FirecrawlOptions, ScrapeScript, ScrapeCall]):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__("firecrawl", crawler, ScrapeScript)
