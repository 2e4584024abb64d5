"""Workflow tasks that Temporal gave up: read off the SDK's counter, for the last ten minutes."""

from fascicle.web.late_tasks import WINDOW_SECONDS, LateTasks
from starter.operations.worker_load import keeps_up

_OTHERS = """\
temporal_request_failure_total{operation="RespondActivityTaskCompleted",status_code="NOT_FOUND"} 9
temporal_request_failure_total{operation="RespondWorkflowTaskCompleted",status_code="UNAVAILABLE"} 9
temporal_request_total{operation="RespondWorkflowTaskCompleted"} 100
"""


def metrics(late: int) -> str:
    given = 'namespace="default",operation="RespondWorkflowTaskCompleted",status_code="NOT_FOUND"'
    return f"{_OTHERS}temporal_request_failure_total{{{given}}} {late}\n"


async def test_only_answers_that_came_too_late_count_and_only_for_ten_minutes() -> None:
    now, total = 0.0, 3

    async def read() -> str:
        return metrics(total)

    late = LateTasks(read, clock=lambda: now)
    assert await late.lately() == 3
    now += 60
    total = 10
    assert await late.lately() == 10
    now += WINDOW_SECONDS
    assert await late.lately() == 0, "what was counted ten minutes ago is over"
    total = 12
    assert await late.lately() == 2
    assert late.note(_OTHERS) == 0


def test_a_few_are_said_and_many_are_wrong() -> None:
    assert keeps_up(0) == (True, "each is done in time")
    assert keeps_up(2)[0]
    well, said = keeps_up(200)
    assert not well
    assert "FASCICLE_MAX_CONCURRENT_WORKFLOW_TASKS" in said
