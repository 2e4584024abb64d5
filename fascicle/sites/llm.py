"""An OpenAI-compatible endpoint (OpenRouter and its like): one question, one answer, and what it cost (R4).

A plain HTTP client: the retries of vendors' libraries would pay again below Temporal's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.summary_prompt import Messages
from fascicle.runtime.answers import Answer, retry_after
from fascicle.runtime.http import Gated, HttpClient

OPENROUTER = "https://openrouter.ai/api/v1"
_REFUSED_SECONDS = 10.0
_LONGEST_DETAIL = 200
_STATUSES = frozenset(str(status) for status in range(400, 600))
# What another model may well do: this one is unknown here, cannot take so much, or declines.
OF_THE_MODEL = frozenset({"model_unavailable", "context_exceeded", "moderation"})
# What no model of this endpoint can do anything about.
OF_THE_ACCOUNT = frozenset({"llm_auth_failed", "llm_credits"})
_ADVICE = {
    "llm_auth_failed": "Check FASCICLE_LLM_API_KEY.",
    "llm_credits": "Its account has no credits left: add some.",
    "model_unavailable": "Check FASCICLE_LLM_MODELS.",
    "context_exceeded": "Set FASCICLE_LLM_CONTEXT_TOKENS to the model's window.",
    "moderation": "Another model may take it: FASCICLE_LLM_MODELS.",
    "llm_refused": "Check FASCICLE_LLM_URL and FASCICLE_LLM_MODELS.",
}


@dataclass(frozen=True)
class Question:
    model: str
    messages: Messages
    schema_name: str
    schema: Mapping[str, Any]
    max_tokens: int


@dataclass(frozen=True)
class Completion:
    content: str
    model: str
    """Who answered, as the endpoint says."""
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    """In the endpoint's currency; None: it does not say."""
    complete: bool
    """False: it was cut off for its length."""


class LanguageModel:
    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        api_key: SecretStr | None,
        policy: GatePolicy,
        timeout_seconds: float,
    ) -> None:
        self._http = http
        self._url = f"{base_url.removesuffix('/chat/completions')}/chat/completions"
        self._key = api_key
        self._policy = policy
        self._timeout = timeout_seconds

    async def ask(self, question: Question) -> Completion:
        """Paid for, however it ends, unless the error says that it never got there."""
        key = "" if self._key is None else self._key.get_secret_value()
        try:
            answer = await self._http.send(
                "POST",
                self._url,
                self._gate(question.model),
                headers={"Authorization": f"Bearer {key}"} if key else {},
                json=_body(question),
                judge=judge,
                timeout_seconds=self._timeout,
            )
            return completion_in(answer, question.model)
        except FascicleError as error:
            if key and key in error.message:  # some endpoints repeat what they refuse
                error.message = error.message.replace(key, "***")
                error.args = (error.message,)
            raise

    def _gate(self, model: str) -> Gated:
        """Each model has its own: where one is rate limited, another may not be."""
        return Gated(f"llm:{urlsplit(self._url).netloc}:{model}"[:200], self._policy)


def _body(question: Question) -> dict[str, Any]:
    schema = {"name": question.schema_name, "strict": True, "schema": dict(question.schema)}
    return {
        "model": question.model,
        "messages": question.messages,
        "max_tokens": question.max_tokens,
        "temperature": 0.2,
        "stream": False,
        "response_format": {"type": "json_schema", "json_schema": schema},
        # OpenRouter's: only providers that heed the schema; and what the answer cost. Others ignore both.
        "provider": {"require_parameters": True},
        "usage": {"include": True},
    }


def judge(answer: Answer) -> None:
    """What an answer means. HTTP 200 may still carry an error, in several places."""
    said = _json(answer)
    if answer.status >= 400:
        raise _error(answer.status, said.get("error"), answer)
    for error in (said.get("error"), _choice(said).get("error")):
        if error:
            raise _error(_code(error) or 502, error, answer)
    choice = _choice(said)
    if not choice:
        raise RetryableError("llm_error", f"{answer.place} answered without an answer.", http_status=200)
    if choice.get("finish_reason") == "error":
        raise RetryableError("llm_error", f"{answer.place}: the model broke off.", http_status=200)


def completion_in(answer: Answer, asked: str) -> Completion:
    said = _json(answer)
    choice = _choice(said)
    message = choice.get("message") if isinstance(choice.get("message"), dict) else {}
    content = _text(message.get("content"))
    if not content.strip():
        if message.get("refusal"):
            raise PermanentError("moderation", f"{asked} declines to answer.", http_status=200)
        raise RetryableError("llm_error", f"{answer.place}: {asked} said nothing.", http_status=200)
    usage = said.get("usage")
    used: dict[str, Any] = usage if isinstance(usage, dict) else {}
    return Completion(
        content=content.replace("\0", ""),
        model=str(said.get("model") or asked)[:200],
        prompt_tokens=_count(used.get("prompt_tokens")),
        completion_tokens=_count(used.get("completion_tokens")),
        cost=_money(used.get("cost")),
        complete=choice.get("finish_reason") != "length",
    )


def _text(content: Any) -> str:
    """Some endpoints answer in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _error(status: int, error: Any, answer: Answer) -> FascicleError:
    said = f"{answer.place} answered {status}" + (f": {detail}" if (detail := _detail(error)) else "")
    wait = retry_after(answer.headers)
    kind = str(error.get("code") or error.get("type") or "") if isinstance(error, dict) else ""
    if status == 429:
        return MustWait(
            "rate_limited", said, seconds=wait or _REFUSED_SECONDS, refused=True, http_status=status
        )
    if status >= 500 or status in (408, 409):
        if wait is not None:
            return MustWait("unavailable", said, seconds=wait, refused=True, http_status=status)
        return RetryableError("llm_error", said, http_status=status)
    code = _permanent_code(status, kind, said)
    return PermanentError(code, f"{said.rstrip('.')}. {_ADVICE[code]}", http_status=status)


def _permanent_code(status: int, kind: str, said: str) -> str:
    if "context_length" in kind or "context length" in said.lower():
        return "context_exceeded"
    codes = {401: "llm_auth_failed", 402: "llm_credits", 403: "moderation", 404: "model_unavailable"}
    if status == 400 and ("model" in kind or "not a valid model" in said):
        return "model_unavailable"
    return codes.get(status, "llm_refused")


def _detail(error: Any) -> str:
    """Their words, on one line."""
    message = error.get("message") if isinstance(error, dict) else error
    words = " ".join("".join(c if c.isprintable() else " " for c in str(message or "")).split())
    return words[:_LONGEST_DETAIL]


def _code(error: Any) -> int | None:
    """The status that an error inside a 200 stands for."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return int(code) if code in _STATUSES else None


def _json(answer: Answer) -> dict[str, Any]:
    try:
        said = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        said = None
    if isinstance(said, dict):
        return said
    if answer.status >= 400:
        return {}
    raise RetryableError("bad_answer", f"{answer.place} answered what is no JSON.", http_status=answer.status)


def _choice(said: dict[str, Any]) -> dict[str, Any]:
    choices = said.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else 0


def _money(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        money = Decimal(str(value))
    except InvalidOperation:
        return None
    return money if money.is_finite() and 0 <= money < 10_000 else None
