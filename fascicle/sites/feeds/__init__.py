"""Feeds: bytes in, `ParsedFeed` out, and where feeds are. Nothing here reaches the network.

`document` makes text of bytes, `xml_feed` and `json_feed` a feed of the text, `keys` gives each entry its id.
`reader` does all this in child processes (`child`, and `fascicle.sites.reading`).
"""

from fascicle.sites.feeds.caching import patience_seconds
from fascicle.sites.feeds.discovery import feed_links, guesses
from fascicle.sites.feeds.keys import with_keys
from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.feeds.reader import FeedReader
from fascicle.sites.feeds.youtube import channel_in_page, youtube_feed, youtube_page

__all__ = [
    "FeedReader",
    "channel_in_page",
    "feed_links",
    "guesses",
    "parse_feed",
    "patience_seconds",
    "with_keys",
    "youtube_feed",
    "youtube_page",
]
