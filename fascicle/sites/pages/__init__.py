"""The pages that items lead to (I5): fetched, and read for what feeds leave out."""

from fascicle.sites.pages.client import Pages
from fascicle.sites.pages.fetching import Page

__all__ = ["Page", "Pages"]
