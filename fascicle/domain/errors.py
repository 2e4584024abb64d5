"""Everything that can go wrong, in two families.

FascicleError
├── RetryableError      the same call may succeed later: timeout, refused connection, 5xx, garbage
│   └── MustWait        not an error of ours: the site (or our gate) said when to come back
└── PermanentError      the same call will fail again: 404, refused address, invalid input
    └── UsageError      a person asked for something impossible; the message says what to do

Each carries a stable `code`; dead letters are counted by it.
"""

from typing import Any

from pydantic import BaseModel


class ErrorRecord(BaseModel):
    """An error as it is stored and shown."""

    error_type: str
    error_code: str
    message: str
    retryable: bool
    http_status: int | None = None
    stage: str | None = None
    attempt: int | None = None
    correlation_id: str | None = None


class FascicleError(Exception):
    retryable = False

    def __init__(self, code: str, message: str, *, http_status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.http_status = http_status

    def record(self, **extra: Any) -> ErrorRecord:
        return ErrorRecord(
            error_type=type(self).__name__,
            error_code=self.code,
            message=self.message,
            retryable=self.retryable,
            http_status=self.http_status,
            **extra,
        )


class RetryableError(FascicleError):
    retryable = True


class MustWait(RetryableError):
    """Come back after `seconds`. `refused`: the site refused; else it is our own gate's queue. `by_hand`: a
    person paused the site."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        seconds: float,
        refused: bool,
        by_hand: bool = False,
        http_status: int | None = None,
    ) -> None:
        super().__init__(code, message, http_status=http_status)
        self.seconds = seconds
        self.refused = refused
        self.by_hand = by_hand


class PermanentError(FascicleError):
    pass


class UsageError(PermanentError):
    pass
