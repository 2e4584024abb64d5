"""The id that a command, and all that follows from it, is found by (O3): of whatever runs here and now.

`fascicle.runtime.correlation` carries it through Temporal, `fascicle.runtime.logs` into each line of the log.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_VALID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_current: ContextVar[str | None] = ContextVar("correlation_id", default=None)


def is_correlation_id(text: str) -> bool:
    """Whether it may stand in logs, headers and filters of the Web UI as it is."""
    return _VALID.fullmatch(text) is not None


def current_correlation_id() -> str | None:
    return _current.get()


@contextmanager
def correlated(correlation_id: str) -> Iterator[None]:
    """What happens within belongs to that id: log lines, and workflows that are started."""
    token = _current.set(correlation_id)
    try:
        yield
    finally:
        _current.reset(token)


def correlate_for_good(correlation_id: str) -> None:
    """Like `correlated`, for a context that ends elsewhere than it began."""
    _current.set(correlation_id)
