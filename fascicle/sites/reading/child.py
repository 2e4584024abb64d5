"""A child process that reads documents: a line of JSON and a body in, a line of JSON and a model out."""

import json
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from pydantic import BaseModel

from fascicle.domain.errors import FascicleError
from fascicle.sites.fanficfare.lockdown import end_after, shut_network

_MEMORY = 2 << 30
# The parent cuts off sooner; this is for the case that there is no parent any more.
_GRACE_SECONDS = 5.0


def serve(read: Callable[..., BaseModel]) -> None:
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
        except FascicleError as error:
            _answer(answers, {"failed": error.code, "said": error.message, "retryable": error.retryable})
        end_after(0)


def _answer(answers: BinaryIO, head: dict[str, Any], payload: bytes = b"") -> None:
    answers.write(json.dumps({**head, "size": len(payload)}).encode() + b"\n")
    answers.write(payload)
    answers.flush()


def _limit_memory() -> None:
    with suppress(ValueError, OSError):  # not every system knows this limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
