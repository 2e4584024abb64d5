"""The simulated model as an upstream; clients use `{url}/llm/v1` as the base address."""

import hashlib
from typing import Any

import orjson

from simulator.answers import Answer
from simulator.llm.completion import completion, failure, say
from simulator.llm.errors import refusal, status_answer, too_long, unknown_model
from simulator.llm.prompt import Prompt, tokens
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.metered import MeteredSite, Outcome


class Llm(MeteredSite[LlmOptions, LlmScript, LlmCall]):
    prefix = "/llm"
    path = "/v1/chat/completions"

    def error(self, status: int, retry_after: str | None) -> Answer:
        return status_answer(status, retry_after)

    def _call(self, body: dict[str, Any]) -> LlmCall:
        text = Prompt.of(body).text
        digest = hashlib.sha256(text.encode()).hexdigest()
        return LlmCall(model=str(body.get("model", "")), messages=text, messages_sha256=digest)

    def _subject(self, call: LlmCall) -> str:
        return call.model

    def _outcome(self, body: dict[str, Any], call: LlmCall, script: LlmScript | None) -> Outcome:
        prompt = Prompt.of(body)
        refused = self._refused(call, prompt, script)
        if refused is not None:
            return Outcome(refused)
        failed = failure(call, script) if script else None
        if failed is not None:
            return Outcome(Answer(200, orjson.dumps(failed)))
        try:
            said = say(body, prompt, self._service.options, script)
        except (KeyError, ValueError) as error:
            return Outcome(refusal(400, f"Invalid schema for response_format: {error}"))
        call.content = said.content
        call.prompt_tokens, call.completion_tokens = prompt.tokens, tokens(said.content)
        cost = self._cost(call)
        whole = orjson.dumps(completion(call, said, cost))
        return Outcome(Answer(200, _spoiled(whole, script)), paid=True, cost=cost)

    def _refused(self, call: LlmCall, prompt: Prompt, script: LlmScript | None) -> Answer | None:
        options = self._service.options
        if not call.model or not prompt.messages:
            return refusal(400, "Input required: model and messages")
        if script is not None and script.kind == "status":
            return status_answer(script.status, script.retry_after)
        if call.model in options.unknown_models:
            return unknown_model(options.unknown_status, call.model)
        if options.context_tokens is not None and prompt.tokens > options.context_tokens:
            return too_long(options.context_tokens, prompt.tokens)
        return None

    def _cost(self, call: LlmCall) -> float:
        options = self._service.options
        spent = call.prompt_tokens * options.prompt_price + call.completion_tokens * options.completion_price
        return round(spent, 10)


def _spoiled(whole: bytes, script: LlmScript | None) -> bytes:
    if script is None or script.kind not in ("invalid_json", "half_json"):
        return whole
    return b"upstream connect error" if script.kind == "invalid_json" else whole[: len(whole) // 2]
