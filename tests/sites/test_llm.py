"""An OpenAI-compatible endpoint: what its answers mean."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from fascicle.domain.errors import FascicleError, MustWait, PermanentError, RetryableError
from fascicle.domain.gate import GatePolicy
from fascicle.domain.summaries.summary import Draft, checked_draft, wire_schema
from fascicle.domain.summaries.summary_prompt import summary_messages
from fascicle.net.http import HttpClient
from fascicle.sites.llm import LanguageModel, Question
from simulator.faults import Fault
from simulator.llm import LlmScript
from simulator.server import RunningSimulator

KEY = "sk-sim-1234567890"
CHAT = "/llm/v1/chat/completions"


@pytest.fixture
def model(http: HttpClient, simulator: RunningSimulator) -> LanguageModel:
    return LanguageModel(
        http,
        base_url=simulator.llm_url,
        api_key=SecretStr(KEY),
        policy=GatePolicy(0),
        timeout_seconds=5,
    )


def question(name: str = "sim/one", text: str = "The lamp was lit at dusk.") -> Question:
    return Question(name, summary_messages("Lamps", text), "draft", wire_schema(Draft), 3000)


async def test_r4_an_answer_keeps_to_the_schema_and_says_what_it_cost(
    model: LanguageModel, simulator: RunningSimulator
) -> None:
    answer = await model.ask(question())
    assert checked_draft(answer.content).language == "en"
    call = simulator.llm.calls()[0]
    assert (answer.prompt_tokens, answer.completion_tokens) == (call.prompt_tokens, call.completion_tokens)
    assert answer.cost is not None
    assert float(answer.cost) == pytest.approx(call.cost)
    assert (answer.model, answer.problem) == ("sim/one", None)


@pytest.mark.parametrize(
    ("script", "kind", "code"),
    [
        (LlmScript(status=401), PermanentError, "llm_auth_failed"),
        (LlmScript(status=402), PermanentError, "llm_credits"),
        (LlmScript(status=403), PermanentError, "moderation"),
        (LlmScript(status=404), PermanentError, "model_unavailable"),
        (LlmScript(status=408), RetryableError, "llm_error"),
        (LlmScript(status=429, retry_after=7), MustWait, "rate_limited"),
        (LlmScript(status=502), RetryableError, "llm_error"),
        (LlmScript(status=503, retry_after=9), MustWait, "unavailable"),
        (LlmScript(kind="error_inside", status=402), PermanentError, "llm_credits"),
        (LlmScript(kind="error_inside", status=429), MustWait, "rate_limited"),
        (LlmScript(kind="choice_error", status=502), RetryableError, "llm_error"),
        (LlmScript(kind="finish_error"), RetryableError, "llm_error"),
        (LlmScript(kind="no_choices"), RetryableError, "llm_error"),
        (LlmScript(kind="invalid_json"), RetryableError, "bad_answer"),
        (LlmScript(kind="half_json"), RetryableError, "bad_answer"),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, LlmScript) else "",
)
async def test_r5_what_goes_wrong_has_a_code(
    model: LanguageModel, simulator: RunningSimulator, script: LlmScript, kind: type, code: str
) -> None:
    simulator.llm.script(script)
    with pytest.raises(FascicleError) as failed:
        await model.ask(question())
    assert type(failed.value) is kind
    assert failed.value.code == code
    if isinstance(failed.value, MustWait) and script.retry_after:
        assert failed.value.seconds == float(script.retry_after)
    assert KEY not in failed.value.message


async def test_r4_a_model_that_is_unknown_or_too_small_is_told_apart(
    model: LanguageModel, simulator: RunningSimulator
) -> None:
    simulator.llm.configure(unknown_models=("sim/none",), unknown_status=400, context_tokens=300)
    with pytest.raises(PermanentError) as unknown:
        await model.ask(question("sim/none"))
    with pytest.raises(PermanentError) as too_small:
        await model.ask(question(text="word " * 2000))
    assert (unknown.value.code, too_small.value.code) == ("model_unavailable", "context_exceeded")


async def test_x5_an_endpoint_that_repeats_the_key_does_not_get_it_into_errors(
    model: LanguageModel, simulator: RunningSimulator
) -> None:
    body = json.dumps({"error": {"code": 401, "message": f"Incorrect API key provided: {KEY}"}})
    simulator.faults.add(Fault(path=CHAT, status=401, body=body))
    with pytest.raises(PermanentError) as refused:
        await model.ask(question())
    assert "***" in refused.value.message
    assert KEY not in f"{refused.value!r} {refused.value.record().model_dump()}"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"choices": "x"}, "llm_error"),
        ([1], "bad_answer"),
        ({"error": "overloaded"}, "llm_error"),
    ],
)
async def test_x7_odd_answers_are_errors_not_crashes(
    model: LanguageModel, simulator: RunningSimulator, answer: Any, code: str
) -> None:
    simulator.faults.add(Fault(path=CHAT, status=200, body=json.dumps(answer)))
    with pytest.raises(FascicleError) as failed:
        await model.ask(question())
    assert failed.value.code == code


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"message": {"content": None, "refusal": "no"}}, "moderation"),
        ({"message": "text"}, "llm_error"),
        ({"message": {"content": "  "}}, "llm_error"),
        ({"message": {"content": ""}, "finish_reason": "length"}, "answer_cut"),
    ],
)
async def test_r4_an_answer_of_no_use_has_its_price(
    model: LanguageModel, simulator: RunningSimulator, choice: Any, code: str
) -> None:
    said = {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "cost": 0.25}}
    simulator.faults.add(Fault(path=CHAT, status=200, body=json.dumps(said)))
    answer = await model.ask(question())
    assert answer.problem is not None
    assert answer.problem.code == code
    assert (answer.prompt_tokens, answer.completion_tokens, str(answer.cost)) == (5, 7, "0.25")


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (429, {"code": "insufficient_quota", "message": "check your plan and billing"}, "llm_credits"),
        (429, {"code": 429, "message": "add a payment method under account/billing"}, "rate_limited"),
        (400, {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}, "context_exceeded"),
        (403, {"message": "Country, region, or territory not supported"}, "model_unavailable"),
        (403, {"message": "Your input was flagged"}, "moderation"),
        (
            404,
            {"message": "No endpoints found that can handle the requested parameters"},
            "model_unavailable",
        ),
        (422, {"message": "extra fields not permitted"}, "llm_refused"),
    ],
)
async def test_r5_vendors_words_are_understood(
    model: LanguageModel, simulator: RunningSimulator, status: int, error: Any, code: str
) -> None:
    simulator.faults.add(Fault(path=CHAT, status=status, body=json.dumps({"error": error})))
    with pytest.raises(FascicleError) as failed:
        await model.ask(question())
    assert failed.value.code == code


async def test_r4_odd_sums_are_not_believed(model: LanguageModel, simulator: RunningSimulator) -> None:
    said = {
        "choices": [{"message": {"content": [{"type": "text", "text": "{}"}, 5]}}],
        "usage": {"prompt_tokens": -5, "completion_tokens": "many", "cost": "NaN"},
    }
    simulator.faults.add(Fault(path=CHAT, status=200, body=json.dumps(said)))
    answer = await model.ask(question())
    assert (answer.content, answer.problem) == ("{}", None)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cost) == (0, 0, None)


@pytest.mark.parametrize(
    ("base", "sent", "not_sent"),
    [
        ("https://api.openai.com/v1", {"max_completion_tokens"}, {"max_tokens", "provider", "usage"}),
        ("https://openrouter.ai/api/v1", {"max_tokens", "provider", "usage"}, {"max_completion_tokens"}),
        ("http://127.0.0.1:11434/v1", {"max_tokens"}, {"provider", "usage", "temperature"}),
    ],
)
def test_r4_each_endpoint_is_asked_in_its_own_words(
    http: HttpClient, base: str, sent: set[str], not_sent: set[str]
) -> None:
    asking = LanguageModel(http, base_url=base, api_key=None, policy=GatePolicy(0), timeout_seconds=5)
    body = asking._body(question())
    assert sent <= set(body)
    assert not not_sent & set(body)
