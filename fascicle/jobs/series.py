"""Sources, their new chapters, and the sweeps of sites."""

from datetime import datetime

from pydantic import BaseModel
from temporalio.common import Priority

from fascicle.domain.harmless_text import for_web_ui
from fascicle.domain.names import FEED_SITE, ingest_workflow_id, source_workflow_id, sweep_workflow_id
from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Cadence
from fascicle.domain.series.chapter import ListedChapter
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.domain.series.sweep import SweepProgress
from fascicle.jobs.job import Job, fairness_key

_LONGEST_TITLE = 150


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
    """A person asked for the next poll."""
    owed_after: int | None = None
    """The last chapter that was told, if more are owed than fit one run: the next run goes on after it."""
    last_poll_at: datetime | None = None
    last_outcome: str = "not polled yet"
    every_seconds: float | None = None
    """The time from the end of the last look to the next one."""
    interrupted: bool = False
    """A watch was interrupted: only the database knows when the next look is due."""

    def count_poll(self, now: datetime, looks: int = 1) -> None:
        self.polls += looks
        self.last_poll_at = now


class SourceInput(BaseModel):
    """A source as the database knows it: enough to start again if Temporal has lost the workflow."""

    source_id: str
    site: str
    series_id: str
    title: str
    cadence: Cadence = Cadence.HOT
    circuit: Circuit = Circuit.CLOSED
    failure_count: int = 0
    synced: bool = False
    """Its whole list was read before. The first sync reads the whole list, not only the newest uploads."""
    paused: bool = False
    pause_reason: str = ""
    due_at: datetime | None = None
    woken: bool = False
    """Something new may be there: the first poll is to fetch it."""
    attributes_given: bool = False
    """It was started with its search attributes: they need not be set again."""
    state: SourceState | None = None
    code: int = 0
    """The number of the code that started this run; 0: code from before there were numbers."""

    @property
    def is_feed(self) -> bool:
        """Its instalments are items, stored with the poll itself, instead of chapters."""
        return self.site == FEED_SITE


def source_job(source: SourceInput) -> Job:
    return Job(
        workflow="SourceWorkflow",
        input=source,
        id=source_workflow_id(source.source_id),
        summary=for_web_ui(f"{source.title[:_LONGEST_TITLE]} on {source.site}"),
        priority=Priority(fairness_key=source.site),
        attributes={
            "Site": source.site,
            "SourceId": source.source_id,
            "SeriesId": source.series_id,
            "Cadence": source.cadence.value,
            "Circuit": source.circuit.value,
        },
    )


class SweepState(BaseModel):
    """All that crosses continue-as-new."""

    rounds: int = 0
    woken: int = 0
    refusals: int = 0
    failures: int = 0
    interval_seconds: float = 120
    last_sweep_at: datetime | None = None
    last_outcome: str = "not swept yet"
    progress: SweepProgress | None = None
    """The progress of a sweep that had to wait before its end."""


class SweepWorkflowInput(BaseModel):
    site: str
    state: SweepState | None = None


def sweep_job(site: str) -> Job:
    return Job(
        workflow="SweepWorkflow",
        input=SweepWorkflowInput(site=site),
        id=sweep_workflow_id(site),
        summary=f"what is new on {site}",
        priority=Priority(priority_key=1, fairness_key=site),
        attributes={"Site": site},
    )


class IngestInput(BaseModel):
    source_id: str
    series_id: str
    site: str
    series_title: str
    chapter: ListedChapter
    code: int = 0
    """The version of the workflow code that started this run; 0: before versions were noted."""


def ingest_job(ingest: IngestInput, *, replay: bool = False) -> Job:
    """Chapters that have begun end before other work begins, so that the first messages leave early."""
    chapter = f"{ingest.series_title} {ingest.chapter.best.number or ingest.chapter.key}"
    return Job(
        workflow="IngestChapterWorkflow",
        input=ingest,
        id=ingest_workflow_id(ingest.source_id, ingest.chapter.key),
        summary=for_web_ui(f"replay: {chapter}" if replay else chapter),
        priority=Priority(priority_key=1, fairness_key=fairness_key(ingest.site)),
        attributes={"Site": ingest.site, "SourceId": ingest.source_id, "SeriesId": ingest.series_id},
    )
