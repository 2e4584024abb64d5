"""A child process that reads feeds: the parent starts it with `python -m fascicle.sites.feeds.child`."""

from fascicle.sites.feeds.parse import parse_feed
from fascicle.sites.reading.child import serve

if __name__ == "__main__":
    serve(parse_feed)
