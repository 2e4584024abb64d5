"""The lengths of all workflows' histories: their growth is the cost of work in events."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus

from bench.books import in_parallel


@dataclass(frozen=True)
class RunHistory:
    workflow_id: str
    kind: str
    events: int


async def histories(client: Client) -> dict[str, RunHistory]:
    """All runs by id. The list has the lengths of closed runs; running ones are described one by one."""

    async def length(execution: WorkflowExecution) -> int:
        if execution.status is not WorkflowExecutionStatus.RUNNING:
            return execution.history_length
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        return (await handle.describe()).history_length

    listed = [execution async for execution in client.list_workflows(page_size=1000)]
    lengths = await in_parallel(listed, length)
    return {
        execution.run_id: RunHistory(execution.id, execution.workflow_type, events)
        for execution, events in zip(listed, lengths, strict=True)
    }


def growth(
    before: dict[str, RunHistory], after: dict[str, RunHistory], weight: Callable[[str], float]
) -> Counter[str]:
    """Added events by kind of workflow; `weight` is the number of workflows that one stands for."""
    grown: Counter[str] = Counter()
    for run_id, run in after.items():
        earlier = before[run_id].events if run_id in before else 0
        grown[run.kind] += round((run.events - earlier) * weight(run.workflow_id))
    return grown
