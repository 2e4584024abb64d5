"""Requests for pages of the simulated press, and models of the simulator."""

from typing import Any

from fascicle.domain.summaries.request import Asked, Received, RequestView
from fascicle.services.summaries.requests import RequestDesk
from simulator.press import ArticleSpec
from simulator.server import RunningSimulator
from tests.harness import Harness, eventually

KEY = "sk-sim-secret-0001"


def model_settings(simulator: RunningSimulator, **more: Any) -> dict[str, Any]:
    return {"llm_url": simulator.llm_url, "llm_api_key": KEY, "llm_models": ["sim/one", "sim/two"], **more}


def article(stack: Harness, **spec: Any) -> str:
    """An article of the press; its address."""
    return stack.simulator.article_url(stack.simulator.press.add(ArticleSpec(**spec)).slug)


def desk(stack: Harness) -> RequestDesk:
    return RequestDesk(stack.dependencies.engine, stack.client)


async def ask(stack: Harness, url: str, **asked: Any) -> Received:
    return await desk(stack).submit(Asked(url=url, **asked))


async def summarized(stack: Harness, url: str, *, within: float = 40.0, **asked: Any) -> RequestView:
    """Ask, and wait for the end of it."""
    received = await ask(stack, url, **asked)
    return await until_over(stack, received.view.id, within=within)


async def until_over(stack: Harness, request_id: str, *, within: float = 40.0) -> RequestView:
    async def over() -> RequestView | None:
        view = await desk(stack).show(request_id)
        return view if view.finished else None

    found = await eventually(over, within=within, what=f"request {request_id} to end")
    assert found is not None
    return found


async def until_closed(stack: Harness, request_id: str) -> Any:
    """Until its workflow has ended, everybody told; how it ended."""
    handle = stack.client.get_workflow_handle(f"request-{request_id}")
    try:
        return await handle.result()
    except Exception as error:
        return error
