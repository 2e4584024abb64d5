"""DeviantArt's error answers: JSON from the API, HTML from the edge server in front of it."""

import orjson

from simulator.answers import Answer

NAMES = {401: "invalid_token", 404: "invalid_request", 429: "user_api_threshold"}
EDGE_PAGE = (
    b"<!DOCTYPE html><html><head><title>403 ERROR</title></head><body><h1>403 ERROR</h1></body></html>"
)


class ApiError(Exception):
    """Ends a request with an error answer; `code` is the endpoint's own error number."""

    def __init__(
        self,
        description: str,
        *,
        status: int = 400,
        error: str = "invalid_request",
        code: int | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(description)
        self.status = status
        self.error = error
        self.code = code
        self.retry_after = retry_after

    def answer(self) -> Answer:
        content: dict[str, object] = {"error": self.error, "error_description": str(self), "status": "error"}
        if self.code is not None:
            content["error_code"] = self.code
        headers = {"content-type": "application/json"}
        if self.retry_after is not None:
            headers["retry-after"] = self.retry_after
        return Answer(self.status, orjson.dumps(content), headers)


class NotFoundError(ApiError):
    def __init__(self, description: str) -> None:
        super().__init__(description, status=404)


def edge_refusal(retry_after: str | None = None) -> Answer:
    """The edge server's refusal, before the API sees the request."""
    headers = {"content-type": "text/html; charset=utf-8"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    return Answer(403, EDGE_PAGE, headers)


def status_answer(status: int, retry_after: str | None) -> Answer:
    """DeviantArt's answer with the status that a fault asks for."""
    if status == 403:
        return edge_refusal(retry_after)
    name = NAMES.get(status, "server_error" if status >= 500 else "invalid_request")
    return ApiError("simulated", status=status, error=name, retry_after=retry_after).answer()
