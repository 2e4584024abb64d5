"""The meaning of DeviantArt's answers to any request.

It is judged by the status, `error` and `error_code`; never by the description, which may contain anything.
"""

from typing import Any

import orjson

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.net.answers import Answer, retry_after

HEADERS = {"dA-minor-version": "20240701"}


def bearing(access_token: str) -> dict[str, str]:
    return {**HEADERS, "Authorization": f"Bearer {access_token}"}


def said(answer: Answer) -> dict[str, Any] | None:
    """The answer, if it has the site's form: a JSON object."""
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def error_name(answer: Answer) -> str | None:
    """DeviantArt's name of the error; None if the answer has none."""
    error = (said(answer) or {}).get("error")
    return error[:60] if isinstance(error, str) and error else None


def described(answer: Answer) -> str:
    """The answer for people."""
    words = f"{answer.place} answered {answer.status}"
    if error := error_name(answer):
        words += f": {error}"
    code = (said(answer) or {}).get("error_code")
    return words + (f" [{code}]" if isinstance(code, int) else "")


def refusal(answer: Answer) -> FascicleError | None:
    """A refusal that is not about the artwork: wrong token, missing permission, too many requests."""
    status, words = answer.status, described(answer)
    if status == 401:
        return PermanentError("token_refused", words, http_status=status)
    # DeviantArt usually sends no Retry-After; then the gate decides how long to wait.
    wait = retry_after(answer.headers) or 0.0
    if status == 429 or (error_name(answer) or "").endswith("_api_threshold"):
        return MustWait("rate_limited", words, seconds=wait, refused=True, http_status=status)
    if status == 403 and said(answer) is None:  # the edge servers' HTML page also means "too many requests"
        return MustWait("blocked", words, seconds=wait, refused=True, http_status=status)
    if status == 403:
        return PermanentError("auth_failed", words, http_status=status)
    return None


def judge_read(answer: Answer) -> None:
    """Judge the answer to a request that only reads."""
    status = answer.status
    if status < 300:
        return
    if error := refusal(answer):
        raise error
    wait = retry_after(answer.headers)
    if status >= 500 and wait is not None:
        raise MustWait("unavailable", described(answer), seconds=wait, refused=True, http_status=status)
    if status >= 500 or status == 408 or said(answer) is None:
        raise RetryableError("server_error", described(answer), http_status=status)
    raise PermanentError("bad_request", described(answer), http_status=status)


def bad_answer(answer: Answer) -> RetryableError:
    return RetryableError(
        "bad_answer",
        f"{answer.place} answered {answer.status} with something that is not its form.",
        http_status=answer.status,
    )
