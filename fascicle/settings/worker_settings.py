"""Settings of workers: how much one process does at once, and the version of the code that it reports."""

import re
from importlib.metadata import version
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from fascicle.domain.names import FETCH_QUEUE, PUBLISH_QUEUE


class WorkerSettings(BaseSettings):
    """A part of `Settings`. Each number is for one worker process, and per task queue."""

    max_concurrent_fetches: int = Field(50, ge=1)
    """Reads from sites; most of them only wait, and the sites' gates keep the distances for any number."""
    max_concurrent_activities: int = Field(100, ge=1)
    """Activities of the queues `fascicle` and `deliver`."""
    max_concurrent_deliveries: int = Field(8, ge=1)
    """Messages that are being sent; each takes a thread."""
    publish_concurrency: int = Field(5, ge=1)
    max_concurrent_workflow_tasks: int = Field(8, ge=2)
    """Steps of workflows at once. They share one core, and each must end within 10 s or Temporal repeats it:
    many at once are all late, few at once are all in time."""
    max_cached_workflows: int = Field(300, ge=2)
    """Workflows kept in memory, at 0.15 to 0.5 MB each. Any other is replayed when it wakes. A source wakes
    only when there is news, and its history is short."""
    worker_slots: Literal["fixed", "resources"] = "fixed"
    """`resources`: the numbers above are upper bounds, and no task is started while the machine (its
    container) has less than a tenth of its CPU or a fifth of its memory left. Publishing keeps its number."""
    max_pollers: int = Field(20, ge=2, le=100)
    """The most calls that wait for tasks, for each queue and kind; as few as one while there are no tasks."""

    worker_versioning: bool = False
    """Workers take tasks only while their version is current (docs/upgrading.md)."""
    deployment_name: str = "fascicle"
    build_id: str = Field(default_factory=lambda: version("fascicle"), min_length=1, max_length=200)
    """The name of this build of the code. Unset: the version of the package."""

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
        """The SDK starts no more workflow tasks at once than it may cache workflows."""
        return min(self.max_concurrent_workflow_tasks, self.max_cached_workflows)

    def activity_slots(self, queue: str) -> int:
        limits = {FETCH_QUEUE: self.max_concurrent_fetches, PUBLISH_QUEUE: self.publish_concurrency}
        return limits.get(queue, self.max_concurrent_activities)
