"""Pages that become summaries."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import LOOK_AGAIN_SIGNAL, request_workflow_id
from fascicle.domain.urls import page_host, place
from fascicle.jobs.job import Job, fairness_key


class SummarizeInput(BaseModel):
    request_id: str
    correlation_id: str
    url: str = ""
    """The request's name in the Web UI."""
    round: int = 1
    """How often the page was requested. A cancellation is about one round."""


def request_input(row: Mapping[str, Any]) -> SummarizeInput:
    """From a row with id, url, correlation_id and round."""
    return SummarizeInput(
        request_id=row["id"],
        correlation_id=row["correlation_id"],
        url=place(row["url"])[:200],
        round=row["round"],
    )


def request_priority(request: SummarizeInput) -> Priority:
    """The highest: a person waits. Five hundred feeds that are due wait beside them, not before them."""
    return Priority(priority_key=1, fairness_key=fairness_key(page_host(request.url)))


def request_job(request: SummarizeInput) -> Job:
    return Job(
        workflow="SummarizeWorkflow",
        input=request,
        id=request_workflow_id(request.request_id),
        summary=for_web_ui(request.url),
        priority=request_priority(request),
        attributes={"Site": page_host(request.url), "CorrelationId": request.correlation_id},
        signal=LOOK_AGAIN_SIGNAL,
    )
