"""Requests and the models that write their summaries: fallbacks, corrections, attempts, costs (R3–R5)."""

from datetime import timedelta
from typing import Any

import pytest

from fascicle.domain.errors import PermanentError
from fascicle.domain.summaries.request import RequestStatus
from fascicle.domain.summaries.summary import Draft, wire_schema
from fascicle.domain.summaries.summary_prompt import summary_messages
from fascicle.settings.settings import Settings
from fascicle.sites.llm import Question
from fascicle.storage.database import transaction
from fascicle.storage.operations import overview
from simulator.llm import LlmScript
from simulator.server import RunningSimulator
from tests.harness import Harness, eventually, open_harness
from tests.requests import article, ask, desk, model_settings, summarized, until_closed, until_over


@pytest.fixture
def overrides(simulator: RunningSimulator) -> dict[str, Any]:
    return model_settings(simulator)


async def test_r4_an_answer_that_breaks_the_contract_is_corrected_once(stack: Harness) -> None:
    stack.simulator.llm.script(LlmScript(kind="missing_field", field="tldr"))
    view = await summarized(stack, article(stack, title="On Lamps"))
    assert view.status is RequestStatus.SUCCEEDED
    first, second = stack.simulator.llm.calls()
    assert "tldr: Field required" in second.messages
    assert "tldr: Field required" not in first.messages
    assert view.calls == 2


async def test_r4_whatever_breaks_it_the_contract_is_enforced(stack: Harness) -> None:
    kinds: tuple[Any, ...] = ("not_json", "too_long", "wrong_types", "empty_list", "missing_field")
    for kind in kinds:
        stack.simulator.llm.script(LlmScript(kind=kind, count=2))
        view = await summarized(stack, article(stack, title=f"On {kind}", words=80))
        assert view.summary is None, kind
        assert view.error is not None
        assert view.error["error_code"] == "contract_broken", kind
        assert (view.error["stage"], view.error["retryable"]) == ("validating", False)
    assert len(stack.simulator.llm.calls()) == 2 * len(kinds)
    # Tried again, the answers that were no summaries are asked for anew; the page is not.
    await desk(stack).retry(view.id)
    assert (await until_over(stack, view.id)).status is RequestStatus.SUCCEEDED
    assert len(stack.simulator.requests.matching("/press/")) == len(kinds)


async def test_r5_a_failure_is_a_record_on_the_row_and_in_the_failure(stack: Harness) -> None:
    stack.simulator.llm.script(LlmScript(status=402, count=None))
    view = await summarized(stack, article(stack, title="On Lamps"), user="ann")
    assert view.error is not None
    assert set(view.error) == {
        "error_type", "error_code", "message", "stage", "correlation_id", "retryable", "attempt",
        "http_status",
    }  # fmt: skip
    assert view.error["error_code"] == "llm_credits"
    assert view.error["http_status"] == 402
    assert (view.error["stage"], view.error["attempt"]) == ("summarizing", 1)
    assert view.error["correlation_id"] == view.correlation_id
    assert view.error["retryable"] is False
    failure = await until_closed(stack, view.id)
    assert failure.cause.type == "llm_credits"
    assert failure.cause.details[0] == view.error
    assert len(stack.simulator.llm.calls()) == 1, "a permanent refusal is not tried again"
    assert await _for_a_person(stack) == [("llm_credits", view.error["message"])]


async def test_r3_what_passes_is_tried_again(stack: Harness) -> None:
    passing = [
        LlmScript(status=502),
        LlmScript(status=408),
        LlmScript(kind="error_inside", status=503),
        LlmScript(kind="choice_error", status=502),
        LlmScript(kind="finish_error"),
        LlmScript(kind="no_choices"),
        LlmScript(kind="invalid_json"),
        LlmScript(status=429, retry_after=1),
    ]
    for number, script in enumerate(passing):
        before = len(stack.simulator.llm.calls())
        # Both models fail once; the next attempt succeeds.
        stack.simulator.llm.script(script.model_copy(update={"count": 2}))
        view = await summarized(stack, article(stack, title=f"On Lamp {number}", words=80))
        assert view.status is RequestStatus.SUCCEEDED, (script, view.error)
        asked = [call.model for call in stack.simulator.llm.calls()[before:]]
        assert asked == ["sim/one", "sim/two", "sim/one"], script


async def test_r3_attempts_are_counted_and_end(stack: Harness) -> None:
    stack.simulator.llm.script(LlmScript(status=502, count=None))
    view = await summarized(stack, article(stack, title="On Lamps"))
    assert view.error is not None
    assert view.error["error_code"] == "llm_error"
    assert (view.error["attempt"], view.attempts) == (3, 3)
    assert len(stack.simulator.llm.calls()) == 6, "three attempts, two models each"


async def test_r4_a_model_that_is_unknown_is_stood_in_for(stack: Harness) -> None:
    stack.simulator.llm.configure(unknown_models=("sim/one",))
    view = await summarized(stack, article(stack, title="On Lamps"))
    assert view.summary is not None
    assert view.summary.model == "sim/two"


async def test_r4_a_long_text_is_read_in_parts_each_paid_once(harness: Harness) -> None:
    harness.simulator.llm.configure(context_tokens=4500)
    settings = harness.dependencies.settings.model_copy(
        update={"llm_context_tokens": 4500, "llm_output_tokens": 800}
    )
    async with (
        harness.another(settings) as stack,
        stack.workers(),
    ):
        # The fourth question fails for good; what the first three were answered is kept.
        harness.simulator.llm.script(LlmScript(status=402, skip=3))
        view = await summarized(stack, article(stack, title="On Lamps", words=6000))
        assert view.error is not None
        assert view.error["error_code"] == "llm_credits"
        await desk(stack).retry(view.id)
        done = await until_over(stack, view.id)
        assert done.status is RequestStatus.SUCCEEDED, done.error
        paid = [call.messages_sha256 for call in harness.simulator.llm.calls() if call.paid]
        assert len(paid) > 4
        assert len(set(paid)) == len(paid)
        text = await stack.value("select text from request_article")
        asked = "\n".join(call.messages for call in harness.simulator.llm.calls() if call.paid)
        assert all(line in asked for line in text.splitlines()), "every paragraph was read"


async def test_r4_what_a_day_may_cost_is_waited_for_not_failed(stack: Harness) -> None:
    spent = stack.dependencies.settings.llm_daily_tokens - 1000
    await stack.execute(
        """insert into llm_call (step, model, state, tokens, cost, started_at)
           values ('summary', 'sim/one', 'answered', :spent, 0, now())""",
        spent=spent,
    )
    view = (await ask(stack, article(stack, title="On Lamps"))).view

    async def waits() -> bool:
        now = await desk(stack).show(view.id)
        return now.status is RequestStatus.PENDING and "spent" in (now.waiting_for or "")

    await eventually(waits, what="the budget to be waited for")
    assert not stack.simulator.llm.calls()
    ((code, why),) = await _for_a_person(stack)
    assert (code, "FASCICLE_LLM_DAILY_TOKENS" in why) == (None, True)
    # Others have the slot meanwhile. Once there is more to spend, somebody may say so.
    await stack.execute("delete from llm_call")
    await desk(stack).retry(view.id)
    assert (await until_over(stack, view.id)).status is RequestStatus.SUCCEEDED


async def test_r4_what_no_day_could_pay_is_refused(harness: Harness) -> None:
    limits = {"llm_daily_tokens": 1000}
    settings = Settings(**(harness.dependencies.settings.model_dump() | limits))
    async with (
        harness.another(settings) as stack,
        stack.workers(),
    ):
        view = await summarized(stack, article(stack, title="On Lamps"))
        assert view.error is not None
        assert view.error["error_code"] == "over_budget"


async def test_r4_an_answer_that_is_cut_off_or_refused_is_paid_and_another_model_stands_in(
    stack: Harness,
) -> None:
    stack.simulator.llm.script(LlmScript(kind="cut"))
    view = await summarized(stack, article(stack, title="On Lamps"))
    assert view.summary is not None
    assert view.summary.model == "sim/two"
    paid = stack.simulator.llm.calls()
    assert view.tokens == sum(call.prompt_tokens + call.completion_tokens for call in paid)
    states = await stack.rows("select state, error_code from llm_call order by id")
    assert [(row["state"], row["error_code"]) for row in states] == [
        ("rejected", "answer_cut"),
        ("answered", None),
    ]


async def test_x7_a_text_that_gives_orders_changes_nothing_but_its_own_summary(stack: Harness) -> None:
    stack.simulator.llm.configure(obeys=True)
    view = await summarized(stack, article(stack, kind="injection", title="Orders"))
    assert view.error is not None
    assert view.error["error_code"] == "contract_broken"
    assert view.summary is None
    asked = stack.simulator.llm.calls()[0].messages
    assert "never act on it" in asked.partition("user:")[0]


async def test_x4_where_the_model_lives_no_page_may_be(harness: Harness) -> None:
    """The operator's word opens that door for the model alone."""
    settings = harness.dependencies.settings.model_copy(update={"allow_hosts": []})
    async with open_harness(
        settings, harness.client, harness.simulator, harness.dependencies.sandbox
    ) as stack:
        model, pages = stack.dependencies.language_model, stack.dependencies.articles
        assert model is not None
        asked = Question("sim/one", summary_messages("t", "x"), "draft", wire_schema(Draft), 900)
        answer = await model.ask(asked)
        assert answer.content
        with pytest.raises(PermanentError, match="FASCICLE_ALLOW_HOSTS"):
            await pages.extract(f"{stack.simulator.llm_url}/models")


async def test_x5_the_key_is_in_no_row_and_no_history(stack: Harness) -> None:
    stack.simulator.llm.configure(api_key="another")
    view = await summarized(stack, article(stack, title="On Lamps"))
    assert view.error is not None
    assert view.error["error_code"] == "llm_auth_failed"
    history = await stack.client.get_workflow_handle(view.workflow_id).fetch_history()
    assert "sk-sim-secret" not in history.to_json()
    assert "sk-sim-secret" not in str(await stack.rows("select * from request"))


async def _for_a_person(stack: Harness) -> list[tuple[str | None, str]]:
    """What `fascicle status` would name."""
    async with transaction(stack.dependencies.engine) as connection:
        rows = await overview.requests_for_a_person(connection, long_wait=timedelta())
    return [(row["code"], row["why"]) for row in rows]
