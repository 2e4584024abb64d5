"""Lives of requests: corrected, waiting in line and for a model, failed, cancelled."""

from simulator.llm import LlmScript
from tests.harness import Harness, eventually
from tests.requests import article, ask, desk, until_closed, until_over


async def pages_become_summaries(stack: Harness) -> dict[str, str]:
    models = stack.simulator.llm
    await stack.reader("ann")
    models.configure(latency=0.3)
    models.script(LlmScript(kind="not_json"))
    corrected = (await ask(stack, article(stack, title="Corrected"), user="ann")).view
    # Only one at a time here: this one waits for its turn, then for the models.
    models.script(LlmScript(status=429, retry_after=1, count=2, skip=2))
    waited = (await ask(stack, article(stack, title="Waited"))).view
    for view in (corrected, waited):
        await until_over(stack, view.id)
    failed = (await ask(stack, article(stack, kind="soft_404"), user="ann")).view
    await until_over(stack, failed.id)
    cancelled = await _cancelled(stack)
    return {
        "request_corrected": corrected.workflow_id,
        "request_waited": waited.workflow_id,
        "request_failed": failed.workflow_id,
        "request_cancelled": cancelled,
    }


async def _cancelled(stack: Harness) -> str:
    models = stack.simulator.llm
    models.configure(latency=30)
    view = (await ask(stack, article(stack, title="Cancelled"))).view

    async def is_asking() -> bool:
        return bool(models.tally().under_way)

    await eventually(is_asking, what="the question")
    await desk(stack).cancel(view.id)
    await until_closed(stack, view.id)
    return view.workflow_id
