"""Firecrawl's scrape endpoint, reading the simulated press."""

from simulator.firecrawl.crawler import Crawler
from simulator.firecrawl.records import FirecrawlOptions, ScrapeCall, ScrapeScript
from simulator.firecrawl.site import Firecrawl

__all__ = ["Crawler", "Firecrawl", "FirecrawlOptions", "ScrapeCall", "ScrapeScript"]
