"""Feeds: bytes in, `ParsedFeed` out, and where feeds are. Nothing here reaches the network."""

from fascicle.sites.feeds.keys import with_keys
from fascicle.sites.feeds.parse import parse_feed

__all__ = ["parse_feed", "with_keys"]
