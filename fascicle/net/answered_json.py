"""An answer's body as JSON: for the HTTP client, and for parsing processes, which do without one."""

from typing import Any

import orjson

from fascicle.domain.errors import RetryableError


def parsed_json(body: bytes, place: str, status: int) -> Any:
    """Garbage is retryable: sites answer an HTML page for a minute and recover."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        start = body[:60].decode("utf-8", "replace")
        raise RetryableError(
            "bad_answer", f"{place} answered something that is not JSON: {start!r}", http_status=status
        ) from error
