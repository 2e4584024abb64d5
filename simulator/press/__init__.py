"""Articles for machines to read: a website's pages, and other content in the place of an article."""

from simulator.press.press import Press
from simulator.press.records import Article, ArticleSpec
from simulator.press.site import PressSite

__all__ = ["Article", "ArticleSpec", "Press", "PressSite"]
