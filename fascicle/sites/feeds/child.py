"""A child process that reads feeds: the parent starts it with `python -m fascicle.sites.feeds.child`."""

import feedparser  # noqa: F401 - before the first feed, whose time and memory are limited

from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.reading.child import serve

if __name__ == "__main__":
    serve(parse_feed)
