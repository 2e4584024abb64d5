"""What a SourceWorkflow carries along, and what it shows of itself."""

from dataclasses import dataclass, field
from datetime import datetime

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.source import SourceFacts
    from fascicle.domain.breaker import Circuit
    from fascicle.domain.cadence import Cadence
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import FEED_SITE


class SourceState(BaseModel):
    """All that crosses continue-as-new."""

    facts: SourceFacts
    due_at: datetime
    synced: bool = True
    paused: bool = False
    pause_reason: str = ""
    polls: int = 0
    refused_starts: int = 0
    woken: bool = False
    """The sweep saw something new; the next poll is to fetch it."""
    asked_for: bool = False
    """A person wants the next poll."""
    owed_after: int | None = None
    """More chapters are to be told than fit one run: the next run goes on after this one."""
    last_poll_at: datetime | None = None
    last_outcome: str = "not polled yet"
    every_seconds: float | None = None
    """How far the next look was away when the last one was over."""
    interrupted: bool = False
    """A watch was broken off: when the next look is due is in the database."""

    def count_poll(self, now: datetime, looks: int = 1) -> None:
        self.polls += looks
        self.last_poll_at = now


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
    woken: bool = False
    """Something new may be there: the first poll is to fetch it."""
    attributes_given: bool = False
    """It was started with its search attributes: they need not be set again."""
    state: SourceState | None = None
    code: int = 0
    """The number of the code that started this run; 0: from before there were numbers."""

    @property
    def is_feed(self) -> bool:
        """Its instalments are items, stored with the poll itself, instead of chapters."""
        return self.site == FEED_SITE


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
    """Its looks repeat themselves: the pending activity knows of the last one and of the next."""
    waiting_for: str


@dataclass
class Wishes:
    """What was asked of the source since it last looked: by people, or by the sweep."""

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
        """Wishes that a wait in the middle of a poll gives way to."""
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
    """What the Web UI shows of a source, in Markdown."""
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
