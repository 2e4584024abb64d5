"""The pages that items link to (I5): fetched, and read for facts that feeds leave out."""

from fascicle.sites.pages.client import Pages
from fascicle.sites.pages.fetching import Page

__all__ = ["Page", "Pages"]
