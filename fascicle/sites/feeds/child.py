"""A child process that reads feeds: a line of JSON and a body in, a line of JSON and a feed out.

The parent starts it with `python -m fascicle.sites.feeds.child`.
"""

import json
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from fascicle.domain.errors import PermanentError
from fascicle.domain.feed import ParsedFeed
from fascicle.sites.fanficfare.lockdown import end_after, shut_network
from fascicle.sites.feeds.parse import parse_feed

_MEMORY = 2 << 30
# The parent cuts off sooner; this is for the case that there is no parent any more.
_GRACE_SECONDS = 5.0


def serve(read: Callable[..., ParsedFeed]) -> None:
    """Answer until the parent closes the pipe."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    shut_network()
    _limit_memory()
    _answer(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        end_after(request.pop("seconds") + _GRACE_SECONDS)
        body = requests.read(request.pop("size"))
        try:
            _answer(answers, {}, read(body, **request).model_dump_json().encode())
        except PermanentError as error:
            _answer(answers, {"failed": error.code, "said": error.message})
        end_after(0)


def _answer(answers: BinaryIO, head: dict[str, Any], payload: bytes = b"") -> None:
    answers.write(json.dumps({**head, "size": len(payload)}).encode() + b"\n")
    answers.write(payload)
    answers.flush()


def _limit_memory() -> None:
    with suppress(ValueError, OSError):  # not every system knows this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    serve(parse_feed)
