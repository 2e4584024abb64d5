"""The pages behind items, and items whose storing failed."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import enrich_workflow_id, item_workflow_id
from fascicle.domain.urls import page_host
from fascicle.jobs.job import Job, fairness_key


class EnrichItemInput(BaseModel):
    item_id: int
    title: str = ""
    """The item's name in the Web UI."""
    host: str = ""
    """The host of its page: hosts take turns."""

    @property
    def label(self) -> str:
        return for_web_ui(self.title or f"item {self.item_id}")


def enrich_input(row: Mapping[str, Any]) -> EnrichItemInput:
    """From a row with id, title and url."""
    return EnrichItemInput(item_id=row["id"], title=row["title"][:200], host=page_host(row["url"]))


def enrich_priority(item: EnrichItemInput) -> Priority:
    """The lowest: people may wait for anything else."""
    return Priority(priority_key=5, fairness_key=fairness_key(item.host))


def enrich_job(item: EnrichItemInput) -> Job:
    return Job(
        workflow="EnrichItemWorkflow",
        input=item,
        id=enrich_workflow_id(item.item_id),
        summary=item.label,
        priority=enrich_priority(item),
        attributes={"Site": item.host},
    )


class IngestItemInput(BaseModel):
    """The entry itself stays in the dead letter, so that people's texts do not enter workflow histories."""

    source_id: str
    letter_id: int


def item_job(item: IngestItemInput, item_key: str) -> Job:
    return Job(
        workflow="IngestItemWorkflow",
        input=item,
        id=item_workflow_id(item.source_id, item_key),
        summary=f"replay: letter {item.letter_id}",
        priority=Priority(priority_key=1),
        attributes={"SourceId": item.source_id},
    )
