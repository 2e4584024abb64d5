"""Articles: the text of a page without the rest of it (R4)."""

from fascicle.sites.articles.client import Articles
from fascicle.sites.articles.firecrawl import FIRECRAWL_CLOUD, Firecrawl

__all__ = ["FIRECRAWL_CLOUD", "Articles", "Firecrawl"]
