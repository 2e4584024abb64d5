"""OpenRouter's error answers."""

from typing import Any

import orjson

from simulator.answers import Answer

MESSAGES = {
    400: "Invalid request",
    401: "No auth credentials found",
    402: "Insufficient credits. Add more to your account and try again.",
    403: "Your input was flagged by the moderation of the provider",
    404: "Not found",
    408: "Request timed out",
    429: "Rate limit exceeded",
    502: "Provider returned error",
    503: "No instances available",
}
METADATA: dict[int, dict[str, Any]] = {
    403: {"reasons": ["violence"], "flagged_input": "…", "provider_name": "Simulated"},
    502: {"raw": "upstream connect error", "provider_name": "Simulated"},
}


def error_object(status: int) -> dict[str, Any]:
    error: dict[str, Any] = {"code": status, "message": MESSAGES.get(status, f"Simulated status {status}")}
    return {**error, "metadata": METADATA[status]} if status in METADATA else error


def status_answer(status: int, retry_after: str | None) -> Answer:
    headers = {"content-type": "application/json"}
    if retry_after is not None:
        headers["retry-after"] = retry_after
    return Answer(status, orjson.dumps({"error": error_object(status)}), headers)


def refusal(status: int, message: str, code: str | int | None = None) -> Answer:
    return Answer(status, orjson.dumps({"error": {"code": code or status, "message": message}}))


def unknown_model(status: int, model: str) -> Answer:
    known_as = {404: f"No endpoints found for {model}.", 400: f"{model} is not a valid model ID"}
    return refusal(status, known_as[status])


def too_long(limit: int, tokens: int) -> Answer:
    message = (
        f"This endpoint's maximum context length is {limit} tokens. However, you requested about {tokens} "
        "tokens. Please reduce the length of the messages."
    )
    return refusal(400, message, "context_length_exceeded")
