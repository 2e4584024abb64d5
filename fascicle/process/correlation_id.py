"""The id that joins a command with everything that follows from it (O3), for the current context.

`fascicle.temporal.correlation` carries it through Temporal, `fascicle.process.logs` into each line of a log.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_VALID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_current: ContextVar[str | None] = ContextVar("correlation_id", default=None)


def is_correlation_id(text: str) -> bool:
    """Can it be used in logs, headers and filters of the Web UI without escaping?"""
    return _VALID.fullmatch(text) is not None


def current_correlation_id() -> str | None:
    return _current.get()


@contextmanager
def correlated(correlation_id: str) -> Iterator[None]:
    """Log lines and started workflows within this context get that id."""
    token = _current.set(correlation_id)
    try:
        yield
    finally:
        _current.reset(token)


def correlate_for_good(correlation_id: str) -> None:
    """Like `correlated`, but never reset: for a context that ends in another place than it began."""
    _current.set(correlation_id)
