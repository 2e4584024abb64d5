"""What a SourceWorkflow carries along, and what it shows of itself."""

from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.source import SourceFacts
    from fascicle.domain.breaker import Circuit
    from fascicle.domain.cadence import Cadence


class SourceState(BaseModel):
    """All that crosses continue-as-new."""

    facts: SourceFacts
    due_at: datetime
    synced: bool = True
    paused: bool = False
    pause_reason: str = ""
    polls: int = 0
    refused_starts: int = 0
    last_poll_at: datetime | None = None
    last_outcome: str = "not polled yet"


class SourceInput(BaseModel):
    """A source as the database knows it: enough to start over if Temporal forgot the workflow."""

    source_id: str
    site: str
    series_id: str
    title: str
    cadence: Cadence = Cadence.HOT
    circuit: Circuit = Circuit.CLOSED
    failure_count: int = 0
    synced: bool = False
    """Its whole list was read before; a first sync begins with that, not with a look at the newest."""
    paused: bool = False
    pause_reason: str = ""
    due_at: datetime | None = None
    state: SourceState | None = None


class SourceStatus(BaseModel):
    """The answer to the `status` query."""

    source_id: str
    title: str
    site: str
    cadence: Cadence
    circuit: Circuit
    failure_count: int
    paused: bool
    pause_reason: str
    polls: int
    last_poll_at: datetime | None
    last_outcome: str
    next_poll_at: datetime | None
    waiting_for: str


def first_state(source: SourceInput) -> SourceState:
    due_at = source.due_at or workflow.now()
    facts = SourceFacts(
        site=source.site,
        series_id=source.series_id,
        title=source.title,
        cadence=source.cadence,
        circuit=source.circuit,
        failure_count=source.failure_count,
        next_check_at=due_at,
    )
    return SourceState(
        facts=facts,
        due_at=due_at,
        synced=source.synced,
        paused=source.paused,
        pause_reason=source.pause_reason,
    )


def details(status: SourceStatus) -> str:
    paused = f"**paused** {status.pause_reason}" if status.paused else "running"
    return "\n".join(
        [
            f"## {status.title}",
            f"- {status.site}, {paused}, cadence {status.cadence}",
            f"- circuit {status.circuit}, {status.failure_count} failed polls in a row",
            f"- {status.polls} polls; the last: {status.last_poll_at or '-'} ({status.last_outcome})",
            f"- next: {status.next_poll_at or 'when resumed'} {status.waiting_for}",
        ]
    )
