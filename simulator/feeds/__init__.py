"""Feeds in every format, the pages they link to, and feeds that misbehave on demand."""

from simulator.feeds.newsroom import Newsroom
from simulator.feeds.oembed import EmbeddingSite
from simulator.feeds.records import EntryPatch, EntrySpec, Feed, FeedEntry, FeedPatch, FeedSpec
from simulator.feeds.site import Feeds
from simulator.feeds.youtube import YouTube

__all__ = [
    "EmbeddingSite",
    "EntryPatch",
    "EntrySpec",
    "Feed",
    "FeedEntry",
    "FeedPatch",
    "FeedSpec",
    "Feeds",
    "Newsroom",
    "YouTube",
]
