"""Feeds in every format, the pages they lead to, and feeds that misbehave on demand."""

from simulator.feeds.newsroom import Newsroom
from simulator.feeds.records import EntryPatch, EntrySpec, Feed, FeedEntry, FeedPatch, FeedSpec
from simulator.feeds.site import Feeds

__all__ = ["EntryPatch", "EntrySpec", "Feed", "FeedEntry", "FeedPatch", "FeedSpec", "Feeds", "Newsroom"]
