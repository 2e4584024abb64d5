"""Articles: the main text of a page (R4)."""

from fascicle.sites.articles.client import Articles
from fascicle.sites.articles.firecrawl import FIRECRAWL_CLOUD, Firecrawl

__all__ = ["FIRECRAWL_CLOUD", "Articles", "Firecrawl"]
