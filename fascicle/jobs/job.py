"""What is needed to start a workflow, whoever starts it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel
from temporalio.common import Priority, SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

# Temporal accepts no longer key, in bytes.
_LONGEST_FAIRNESS_KEY = 64


@dataclass(frozen=True)
class Job:
    workflow: str
    input: BaseModel
    id: str
    """Only one workflow of this id runs at a time: it is the dedup key."""
    summary: str
    """The title in the Web UI."""
    priority: Priority = Priority.default
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Search attributes; empty values are left out."""
    signal: str | None = None
    """Sent with the start, so that a workflow that runs already looks again."""

    @property
    def search_attributes(self) -> TypedSearchAttributes:
        return TypedSearchAttributes(
            [
                SearchAttributePair(SearchAttributeKey.for_keyword(name), value)
                for name, value in self.attributes.items()
                if value
            ]
        )


def fairness_key(name: str) -> str | None:
    """Tasks of different keys take turns. Some hosts have names that are too long for a key."""
    return name.encode()[:_LONGEST_FAIRNESS_KEY].decode("utf-8", "ignore") or None
