"""An OpenAI-compatible endpoint (such as OpenRouter): one question, one answer, and its cost (R4).

It is a plain HTTP client, because vendors' libraries would retry, and so pay, unseen by Temporal.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit

import orjson
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.summaries.summary_prompt import Messages
from fascicle.net.answers import Answer, retry_after
from fascicle.net.http import Gated, HttpClient

OPENROUTER = "https://openrouter.ai/api/v1"
_REFUSED_SECONDS = 10.0
_LONGEST_DETAIL = 200
_STATUSES = frozenset(str(status) for status in range(400, 600))
# Errors of one model; another may succeed: unknown here, text too long, declined, or answer cut off.
OF_THE_MODEL = frozenset({"model_unavailable", "context_exceeded", "moderation", "answer_cut"})
# Errors that are the same for all models of this endpoint.
OF_THE_ACCOUNT = frozenset({"llm_auth_failed", "llm_credits"})
# After these errors it is unknown whether the question was answered and paid.
UNCLEAR = frozenset({"timeout", "connection_lost", "bad_answer"})
_ADVICE = {
    "llm_auth_failed": "Check FASCICLE_LLM_API_KEY.",
    "llm_credits": "Its account has no credits left: add some.",
    "model_unavailable": "Check FASCICLE_LLM_MODELS.",
    "context_exceeded": "Set FASCICLE_LLM_CONTEXT_TOKENS to the model's window.",
    "moderation": "Another model may take it: FASCICLE_LLM_MODELS.",
    "llm_refused": "Check FASCICLE_LLM_URL and FASCICLE_LLM_MODELS.",
}
# Vendors use different words for the same error.
_TOO_LONG = re.compile(
    r"context.?length|context window|prompt is too long|token count.*exceeds|maximum.*tokens"
)
_NO_CREDITS = re.compile(r"insufficient.?(?:quota|credits|funds|balance)")
_NO_MODEL = re.compile(r"model.?not.?(?:found|exist)|not a valid model|no endpoints found|unknown model")
_NOT_FOR_US = re.compile(r"permission|region|country|not allowed|no access|does not have access")


@dataclass(frozen=True)
class Question:
    model: str
    messages: Messages
    schema_name: str
    schema: Mapping[str, Any]
    max_tokens: int


@dataclass(frozen=True)
class Completion:
    """An answer and its cost, whether it is usable or not."""

    content: str
    model: str
    """The model that answered, as the endpoint reports it."""
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    """In the endpoint's currency; None: the endpoint does not report it."""
    problem: FascicleError | None = None
    """Why the answer is not usable."""


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
        self._key = api_key.get_secret_value() if api_key else ""
        self._policy = policy
        self._timeout = timeout_seconds

    async def ask(self, question: Question) -> Completion:
        """Raises if there is no answer. An unusable one is returned with its problem: it costs too."""
        answer = await self._http.send(
            "POST",
            self._url,
            self._gate(question.model),
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            json=self._body(question),
            judge=self._judge,
            timeout_seconds=self._timeout,
        )
        return completion_in(answer, question.model)

    def _gate(self, model: str) -> Gated:
        """Each model has its own gate: if one is rate-limited, another may not be."""
        return Gated(f"llm:{urlsplit(self._url).netloc}:{model}"[:200], self._policy)

    def _body(self, question: Question) -> dict[str, Any]:
        schema = {"name": question.schema_name, "strict": True, "schema": dict(question.schema)}
        body: dict[str, Any] = {
            "model": question.model,
            "messages": question.messages,
            "stream": False,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        host = urlsplit(self._url).hostname or ""
        if host == "api.openai.com":  # it refuses unknown parameters and the older name
            return body | {"max_completion_tokens": question.max_tokens}
        body["max_tokens"] = question.max_tokens
        if host.endswith("openrouter.ai"):  # only providers that obey the schema, and report the cost
            body |= {"provider": {"require_parameters": True}, "usage": {"include": True}}
        return body

    def _judge(self, answer: Answer) -> None:
        try:
            judge(answer)
        except FascicleError as error:
            if self._key and self._key in error.message:  # some endpoints repeat a refused key
                error.message = error.message.replace(self._key, "***")
                error.args = (error.message,)
            raise


def judge(answer: Answer) -> None:
    """Raise the error if there is no answer. HTTP 200 may contain an error in several places."""
    said = _json(answer)
    if answer.status >= 400:
        raise _error(answer.status, said.get("error"), answer)
    choice = _choice(said)
    for error in (said.get("error"), choice.get("error")):
        if error:
            raise _error(_code(error) or 502, error, answer)
    if not choice:
        raise RetryableError("llm_error", f"{answer.place} answered without an answer.", http_status=200)
    if choice.get("finish_reason") == "error":
        raise RetryableError("llm_error", f"{answer.place}: the model broke off.", http_status=200)


def completion_in(answer: Answer, asked: str) -> Completion:
    said = _json(answer)
    choice, usage = _choice(said), said.get("usage")
    used: dict[str, Any] = usage if isinstance(usage, dict) else {}
    content = _text(_message(choice).get("content")).replace("\0", "")
    return Completion(
        content=content,
        model=str(said.get("model") or asked)[:200],
        prompt_tokens=_count(used.get("prompt_tokens")),
        completion_tokens=_count(used.get("completion_tokens")),
        cost=_money(used.get("cost")),
        problem=_problem(choice, content, asked),
    )


def _problem(choice: dict[str, Any], content: str, asked: str) -> FascicleError | None:
    if choice.get("finish_reason") == "length":
        # A repeated question would be cut off again: a reasoning model may use up all its tokens.
        said = f"{asked} did not come to an end. Raise FASCICLE_LLM_OUTPUT_TOKENS, or choose another model."
        return PermanentError("answer_cut", said, http_status=200)
    if _message(choice).get("refusal"):
        return PermanentError("moderation", f"{asked} declines to answer.", http_status=200)
    if not content.strip():
        return RetryableError("llm_error", f"{asked} said nothing.", http_status=200)
    return None


def _message(choice: dict[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, dict) else {}


def _text(content: Any) -> str:
    """Some endpoints answer in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _error(status: int, error: Any, answer: Answer) -> FascicleError:
    said = f"{answer.place} answered {status}" + (f": {detail}" if (detail := _detail(error)) else "")
    words = f"{_kind(error)} {said}".lower()
    wait = retry_after(answer.headers)
    if status == 429 and not _NO_CREDITS.search(words):
        seconds = wait or _REFUSED_SECONDS
        return MustWait("rate_limited", said, seconds=seconds, refused=True, http_status=status)
    if (status >= 500 or status in (408, 409)) and not _TOO_LONG.search(words):
        if wait is not None:
            return MustWait("unavailable", said, seconds=wait, refused=True, http_status=status)
        return RetryableError("llm_error", said, http_status=status)
    code = _permanent_code(status, words)
    return PermanentError(code, f"{said.rstrip('.')}. {_ADVICE[code]}", http_status=status)


def _permanent_code(status: int, words: str) -> str:
    if _TOO_LONG.search(words):
        return "context_exceeded"
    if status == 402 or _NO_CREDITS.search(words):
        return "llm_credits"
    if status == 404 or _NO_MODEL.search(words) or (status == 403 and _NOT_FOR_US.search(words)):
        return "model_unavailable"
    return {401: "llm_auth_failed", 403: "moderation"}.get(status, "llm_refused")


def _kind(error: Any) -> str:
    """The vendor's name of the error: its code may be a word."""
    return f"{error.get('code')} {error.get('type')}" if isinstance(error, dict) else ""


def _detail(error: Any) -> str:
    """The vendor's message on one line."""
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
