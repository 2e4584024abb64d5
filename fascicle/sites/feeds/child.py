"""A child process that reads feeds: a line of JSON and a body in, a line of JSON and a feed out.

The parent starts it with `python -m fascicle.sites.feeds.child`.
"""

import json
import os
import resource
from contextlib import suppress
from typing import Any, BinaryIO

from fascicle.domain.errors import PermanentError
from fascicle.sites.fanficfare.lockdown import end_after, shut_network
from fascicle.sites.feeds.parse import parse_feed

_MEMORY = 2 << 30
# The parent cuts off sooner; this is for the case that there is no parent any more.
_GRACE_SECONDS = 5.0


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the parent closes the pipe."""
    _answer(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        end_after(request.pop("seconds") + _GRACE_SECONDS)
        _answer(answers, *_read(requests.read(request.pop("size")), request))
        end_after(0)


def _read(body: bytes, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        feed = parse_feed(body, **request)
    except PermanentError as error:
        return {"failed": error.code, "said": error.message}, b""
    return {}, feed.model_dump_json().encode()


def _answer(answers: BinaryIO, head: dict[str, Any], payload: bytes = b"") -> None:
    answers.write(json.dumps({**head, "size": len(payload)}).encode() + b"\n")
    answers.write(payload)
    answers.flush()


def _limit_memory() -> None:
    with suppress(ValueError, OSError):  # not every system knows this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    shut_network()
    _limit_memory()
    serve(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
