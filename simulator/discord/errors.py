"""Discord's error answers."""

import orjson

from simulator.answers import Answer


class ApiError(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code

    def answer(self) -> Answer:
        return Answer(self.status, orjson.dumps({"message": str(self), "code": self.code}))


def status_answer(status: int, retry_after: str | None) -> Answer:
    """Discord's answer with the status that a fault asks for."""
    if status != 429:
        headers = {"content-type": "application/json"}
        return Answer(status, orjson.dumps({"message": f"{status}: simulated", "code": 0}), headers)
    seconds = retry_after or "1"
    body = {"message": "You are being rate limited.", "retry_after": float(seconds), "global": False}
    headers = {"content-type": "application/json", "retry-after": seconds}
    return Answer(status, orjson.dumps(body), headers)
