"""Articles to be read by machines: as a website prints them, and what is served where one was expected."""

from simulator.press.press import Press
from simulator.press.records import Article, ArticleSpec
from simulator.press.site import PressSite

__all__ = ["Article", "ArticleSpec", "Press", "PressSite"]
