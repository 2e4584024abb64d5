"""Limits repeated lines of a log to some per minute, and reports how many were left out."""

import logging
import time
from dataclasses import dataclass
from typing import Any

MOST_A_MINUTE = 20
_WINDOW_SECONDS = 60.0
# With more kinds, all counters are cleared at once; only then may a line come too often.
_MOST_KINDS = 1_000


@dataclass
class _Window:
    began: float
    seen: int = 0


class RepeatedLines(logging.Filter):
    """Counts warnings and errors by logger, event and workflow; lets the first of each minute pass."""

    def __init__(self) -> None:
        super().__init__()
        self._windows: dict[tuple[Any, ...], _Window] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        now, kind = time.monotonic(), _kind(record)
        window = self._windows.get(kind)
        if window is None or now - window.began >= _WINDOW_SECONDS:
            left_out = 0 if window is None else max(0, window.seen - MOST_A_MINUTE)
            window = self._begin(kind, now)
            if left_out:
                _tell(record, left_out)
        window.seen += 1
        return window.seen <= MOST_A_MINUTE

    def _begin(self, kind: tuple[Any, ...], now: float) -> _Window:
        if len(self._windows) >= _MOST_KINDS:
            self._windows.clear()
        window = self._windows[kind] = _Window(now)
        return window


def _kind(record: logging.LogRecord) -> tuple[Any, ...]:
    error = record.exc_info[0] if record.exc_info else None
    if isinstance(record.msg, dict):  # structlog's
        return (record.name, record.levelno, record.msg.get("event"), record.msg.get("workflow_id"), error)
    return (record.name, record.levelno, str(record.msg), None, error)


def _tell(record: logging.LogRecord, left_out: int) -> None:
    if isinstance(record.msg, dict):
        record.msg["left_out"] = left_out
    else:
        record.msg = f"{record.msg} [{left_out} more like this were left out]"
