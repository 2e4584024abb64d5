"""MangaDex's error answers."""

import math
import time
from http import HTTPStatus

import orjson

from simulator.answers import Answer
from simulator.ids import derived_id


class ApiError(Exception):
    """Ends a request with an error answer."""

    def __init__(self, status: int, detail: str, title: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.title = title or _usual_title(status)


class InvalidParameterError(ApiError):
    def __init__(self, name: str, problem: str) -> None:
        super().__init__(400, f"Error validating /{name}: {problem}", "validation_exception")


def error_answer(error: ApiError, retry_after: str | None = None) -> Answer:
    entry = {
        "id": derived_id("error", error.title),
        "status": error.status,
        "title": error.title,
        "detail": error.detail,
        "context": None,
    }
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    if error.status == 429 and retry_after is not None and retry_after.isdecimal():
        headers["x-ratelimit-retry-after"] = str(math.ceil(time.time() + int(retry_after)))
    return Answer(error.status, orjson.dumps({"result": "error", "errors": [entry]}), headers)


def _usual_title(status: int) -> str:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        return "http_exception"
    return f"{phrase.lower().replace(' ', '_')}_http_exception"
