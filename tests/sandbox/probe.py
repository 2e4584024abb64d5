"""A parsing process that does what its document says: ends, hangs, eats memory, says too much."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from fascicle.domain.errors import RetryableError
from fascicle.sandbox.child import allowed_reading, serve
from fascicle.sandbox.limits import LARGEST_ANSWER

PROBE = "probe"
CHILD = "tests.sandbox.probe"
# The descriptor that answers leave by: 0 to 2 lead nowhere, 3 has the requests.
_ANSWERS = 4


def read(body: bytes, **given: Any) -> Any:
    if body == b"die":
        os._exit(1)
    if body == b"hang":
        signal.pause()
    if body == b"abort":
        os.abort()
    if body == b"compute":
        signal.raise_signal(signal.SIGXCPU)
    if body == b"eat":
        return len(bytearray(1 << 40))
    if body == b"chatter":
        return "x" * (LARGEST_ANSWER + 1)
    if body == b"flood":
        os.write(_ANSWERS, b"x" * 300_000)
    if body == b"stumble":
        raise ZeroDivisionError("odd")
    if body == b"later":
        raise RetryableError("bad_answer", "try again", http_status=503)
    if body == b"whoami":
        return {"environment": sorted(os.environ), "modules": sorted(sys.modules)}
    return {"body": body.decode(), **given}


def find(name: str) -> Callable[..., Any]:
    return read if name == PROBE else allowed_reading(name)


if __name__ == "__main__":
    serve(find)
