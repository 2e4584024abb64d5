"""Firecrawl's error answers."""

import orjson

from simulator.answers import Answer

MESSAGES = {
    400: "Bad Request",
    401: "Unauthorized: Invalid token",
    402: "Payment Required: Insufficient credits to perform this request.",
    403: "Forbidden: this website is not supported.",
    404: "Not Found",
    408: "Scrape timed out",
    429: "Rate limit exceeded. Please retry later.",
    500: "All scraping engines failed",
    502: "Bad Gateway",
}
CODES = {400: "BAD_REQUEST", 408: "SCRAPE_TIMEOUT", 500: "SCRAPE_ALL_ENGINES_FAILED"}


def failure(status: int, message: str | None = None) -> bytes:
    said: dict[str, object] = {"success": False}
    if status in CODES:
        said["code"] = CODES[status]
    return orjson.dumps({**said, "error": message or MESSAGES.get(status, f"Simulated status {status}")})


def status_answer(status: int, retry_after: str | None, message: str | None = None) -> Answer:
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    return Answer(status, failure(status, message), headers)
