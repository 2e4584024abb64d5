"""The model's text for a prompt, and the answer that contains it."""

import time
from dataclasses import dataclass
from typing import Any

import orjson

from simulator.ids import derived_id
from simulator.llm.breaking import broken
from simulator.llm.errors import error_object
from simulator.llm.prompt import CHARACTERS_PER_TOKEN, Prompt, tokens
from simulator.llm.records import LlmCall, LlmOptions, LlmScript
from simulator.llm.schema import Filling, Schema
from simulator.llm.wording import Wording

PROVIDER = "Simulated"
PLAIN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Said:
    content: str
    finish_reason: str = "stop"


def say(body: dict[str, Any], prompt: Prompt, options: LlmOptions, script: LlmScript | None) -> Said:
    """Raises ValueError if the schema asks for a value that the simulator cannot make up."""
    content = _content(body, prompt, options, script)
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    most = limit * CHARACTERS_PER_TOKEN if isinstance(limit, int) else len(content)
    if script is not None and script.kind == "cut":
        most = min(most, len(content) // 2)
    return Said(content) if len(content) <= most else Said(content[:most], "length")


def _content(body: dict[str, Any], prompt: Prompt, options: LlmOptions, script: LlmScript | None) -> str:
    kind = script.kind if script else None
    if script is not None and kind == "content":
        return script.content
    if options.obeys and (told := prompt.told_to_say) is not None:
        return told
    wording = Wording(prompt.last_of_user)
    schema = _schema(body)
    if kind == "not_json" or schema is None:
        return wording.sentences(PLAIN_CHARACTERS)
    document = Filling(schema, wording).document()
    if script is not None:
        document = broken(document, schema, script.kind, script.field)
    text = orjson.dumps(document).decode()
    return (
        f"Sure! Here is the summary:\n\n```json\n{text}\n```\n\nShall I go on?" if kind == "fenced" else text
    )


def _schema(body: dict[str, Any]) -> Schema | None:
    """The schema of the wanted answer, or None for plain text."""
    wanted = body.get("response_format")
    if not isinstance(wanted, dict) or wanted.get("type") not in ("json_schema", "json_object"):
        return None
    schema = (wanted.get("json_schema") or {}).get("schema")
    return schema if isinstance(schema, dict) else {"type": "object", "properties": {"text": {}}}


def completion(call: LlmCall, said: Said, cost: float) -> dict[str, Any]:
    return {
        **_frame(call),
        "choices": [_choice(said.content, said.finish_reason)],
        "usage": {
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": tokens(said.content),
            "total_tokens": call.prompt_tokens + tokens(said.content),
            "cost": cost,
        },
    }


def failure(call: LlmCall, script: LlmScript) -> dict[str, Any] | None:
    """The body of a 200 that reports a failure; None if the script asks for an answer."""
    error = error_object(script.status)
    match script.kind:
        case "error_inside":
            return {"error": error, "user_id": "user_simulated"}
        case "no_choices":
            return {**_frame(call), "choices": []}
        case "choice_error":
            return {**_frame(call), "choices": [{**_choice("", "error"), "error": error}]}
        case "finish_error":
            return {**_frame(call), "choices": [_choice("", "error")]}
        case _:
            return None


def _frame(call: LlmCall) -> dict[str, Any]:
    identity = derived_id("completion", f"{call.number} {call.messages_sha256}").replace("-", "")
    return {
        "id": f"gen-{identity}",
        "provider": PROVIDER,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": call.model,
    }


def _choice(content: str, reason: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {
        "index": 0,
        "logprobs": None,
        "finish_reason": reason,
        "native_finish_reason": reason,
        "message": message,
    }
