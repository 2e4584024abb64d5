"""Settings of workers: how much one process does at once, and which version of the code it says it is."""

import re
from importlib.metadata import version
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from fascicle.domain.names import FETCH_QUEUE, PUBLISH_QUEUE


class WorkerSettings(BaseSettings):
    """A part of `Settings`. Each counts for one worker process, and per task queue."""

    max_concurrent_fetches: int = Field(50, ge=1)
    """Upstream reads; most of them wait, and sites' gates keep the distances however many there are."""
    max_concurrent_activities: int = Field(100, ge=1)
    """Of the queues `fascicle` and `deliver`."""
    max_concurrent_deliveries: int = Field(8, ge=1)
    """Messages on their way: a thread each."""
    publish_concurrency: int = Field(5, ge=1)
    max_concurrent_workflow_tasks: int = Field(8, ge=2)
    """Steps of workflows that are worked on at once. They share one core, and each must end within 10 s or
    Temporal has it done again: many at once are all late, few at once are all in time."""
    max_cached_workflows: int = Field(300, ge=2)
    """Workflows kept in memory, at 0.15 to 0.5 MB each. One that is not is replayed when it wakes, which a
    source does only when there is news: its history is short."""
    worker_slots: Literal["fixed", "resources"] = "fixed"
    """`resources`: the numbers above are upper bounds, and no more is begun while the machine (its container)
    has less than a tenth of its CPU or a fifth of its memory left. Publishing keeps its number."""
    max_pollers: int = Field(20, ge=2, le=100)
    """Calls that wait for tasks, at most, for each queue and kind; as few as one while nothing comes."""

    worker_versioning: bool = False
    """Workers take only what their version was made current for (docs/upgrading.md)."""
    deployment_name: str = "fascicle"
    build_id: str = Field(default_factory=lambda: version("fascicle"), min_length=1, max_length=200)
    """Which code this is. Unset: the version of the package."""

    @field_validator("deployment_name")
    @classmethod
    def _no_dots(cls, value: str) -> str:
        if not re.fullmatch("[A-Za-z0-9_-]{1,100}", value):
            raise ValueError("must be letters, digits, - and _")
        return value

    @field_validator("build_id")
    @classmethod
    def _names_a_build(cls, value: str) -> str:
        if not value.isprintable() or " " in value or ":" in value:
            raise ValueError("must be one word, such as 0.2.1 or a commit")
        return value

    @property
    def workflow_slots(self) -> int:
        """The SDK begins no more workflow tasks than it may remember workflows."""
        return min(self.max_concurrent_workflow_tasks, self.max_cached_workflows)

    def activity_slots(self, queue: str) -> int:
        limits = {FETCH_QUEUE: self.max_concurrent_fetches, PUBLISH_QUEUE: self.publish_concurrency}
        return limits.get(queue, self.max_concurrent_activities)
