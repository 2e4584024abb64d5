"""A child that reads feeds, but dies of one and never ends with another."""

import os
import signal
from typing import Any

from fascicle.domain.feed import ParsedFeed
from fascicle.sites.feeds import parse_feed
from fascicle.sites.reading.child import serve

DIE = b"die"
HANG = b"hang"


def read(body: bytes, **request: Any) -> ParsedFeed:
    if body == DIE:
        os._exit(1)
    if body == HANG:
        signal.pause()
    return parse_feed(body, **request)


if __name__ == "__main__":
    serve(read)
