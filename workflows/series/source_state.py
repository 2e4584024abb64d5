"""The input, the state and the status of a SourceWorkflow."""

from dataclasses import dataclass, field
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.series.breaker import Circuit
    from fascicle.domain.series.cadence import Cadence
    from fascicle.domain.series.source_facts import SourceFacts
    from fascicle.jobs.series import SourceInput, SourceState


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
    chapters: int = 0
    last_poll_at: datetime | None
    last_outcome: str
    next_poll_at: datetime | None
    next_poll_reason: str = ""
    watching: bool = False
    """One activity repeats the looks: its pending state shows the last look and the next one."""
    waiting_for: str


@dataclass
class Wishes:
    """The requests that people and the sweep have made since the source last looked."""

    stop: bool = False
    poll: bool = False
    pause: tuple[bool, str] | None = None
    pins: list[Cadence | None] = field(default_factory=list)
    replays: list[str] = field(default_factory=list)
    wake_within: float | None = None

    def any(self) -> bool:
        return bool(
            self.stop or self.poll or self.pause or self.pins or self.replays or self.wake_within is not None
        )

    def interrupt(self) -> bool:
        """Is there a wish that interrupts a poll: a stop or a pause?"""
        return self.stop or (self.pause is not None and self.pause[0])


def shown_at_start(source: SourceInput) -> tuple[str, ...]:
    """The search attributes that a new run has without setting them; each setting is a write for Temporal."""
    is_first_run = source.state is None
    return (source.cadence.value, source.circuit.value) if source.attributes_given and is_first_run else ()


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
        synced=source.synced or source.is_feed,
        paused=source.paused,
        pause_reason=source.pause_reason,
        woken=source.woken,
    )


def details(status: SourceStatus) -> str:
    """The details of a source for the Web UI, in Markdown."""
    paused = f"**paused** {for_web_ui(status.pause_reason or '')}" if status.paused else "running"
    when = "when resumed" if status.paused else "see the pending activity"
    if status.next_poll_at:
        when = f"{status.next_poll_at:%a %d %b %H:%M:%S} UTC"
    last = f"{status.last_poll_at:%a %d %b %H:%M:%S} UTC" if status.last_poll_at else "never"
    return "\n".join(
        [
            f"## {for_web_ui(status.title)}",
            f"- **{status.site}**, {paused}, cadence **{status.cadence}**",
            f"- {f'{status.chapters} chapters, ' if status.chapters else ''}{status.polls} polls",
            f"- last poll: {last} ({for_web_ui(status.last_outcome or '')})",
            f"- next poll: {when} ({for_web_ui(status.next_poll_reason or status.waiting_for or '')})",
            f"- circuit: **{status.circuit}**, {status.failure_count} failed polls in a row",
        ]
    )
