"""Requests (R1–R5): a URL becomes a checked summary. Their states, their stages, their identity."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from fascicle.domain.errors import UsageError
from fascicle.domain.feeds.canonical_url import url_key
from fascicle.domain.summaries.summary import StoredSummary
from fascicle.domain.urls import parse_http_url, place

_ID = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,59}")

# Failures that have nothing to do with the page: all requests fail until a person removes the cause.
FOR_A_PERSON = (
    "llm_auth_failed",
    "llm_credits",
    "llm_refused",
    "model_unavailable",
    "firecrawl_credits",
    "firecrawl_refused",
    "crashed",
)


class RequestStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (RequestStatus.PENDING, RequestStatus.RUNNING)


class Stage(StrEnum):
    EXTRACTING = "extracting"
    SUMMARIZING = "summarizing"
    VALIDATING = "validating"
    PERSISTING = "persisting"


# Failures of a stage that neither the page nor the model has caused: they count as no attempt.
OUR_FAULTS = frozenset({"worker_lost", "database_down", "shutting_down", "parser_not_started", "store_down"})

# The progress of a request that enters the stage, in per cent.
PROGRESS = {Stage.EXTRACTING: 5, Stage.SUMMARIZING: 30, Stage.VALIDATING: 85, Stage.PERSISTING: 95}
DONE = 100


class RequestView(BaseModel):
    """All about one request, for people and programs."""

    id: str
    url: str
    status: RequestStatus
    stage: Stage | None = None
    progress: int = 0
    position: int | None = None
    """The place in the queue, while it is pending."""
    waiting_for: str | None = None
    not_before: datetime | None = None
    """It waits until then at least, without a slot."""
    correlation_id: str
    workflow_id: str
    item_id: int | None = None
    attempts: int = 0
    """Failed attempts of the current stage, or of the last one."""
    error: dict[str, Any] | None = None
    title: str | None = None
    extractor: str | None = None
    tokens: int = 0
    cost: float = 0.0
    calls: int = 0
    """Calls of models, including refused ones; `tokens` and `cost` are what was, or may have been, paid."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    summary: StoredSummary | None = None

    @property
    def finished(self) -> bool:
        return self.status not in OPEN


class Reception(StrEnum):
    """The outcome of a submission."""

    STARTED = "started"
    JOINED = "joined"
    """The same page was requested before, and that request is still open."""
    CACHED = "cached"
    """The page was summarised before."""
    RETRIED = "retried"
    """It failed before; the stages that were finished then are not repeated."""
    LOCK_HELD = "lock_held"
    """This same request is being worked on."""


@dataclass(frozen=True)
class Asked:
    url: str
    user: str | None = None
    refresh: bool = False
    request_id: str | None = None
    """An id that a program chooses: submitted twice, it is one request."""
    item_id: int | None = None
    wait_seconds: float = 0


@dataclass(frozen=True)
class Received:
    reception: Reception
    view: RequestView


def is_request_id(text: str) -> bool:
    """Can it be a request id? It becomes part of a workflow's id, and people type it."""
    return _ID.fullmatch(text) is not None


def url_hash(url: str) -> str:
    """A hash that all addresses of one page share (R1); a UsageError if it is no address."""
    parse_http_url(url)
    key = url_key(url)
    if key is None:
        raise UsageError("invalid_url", f"{place(url)[:200]!r} is no address that can be read.")
    return hashlib.sha256(key.encode()).hexdigest()
