"""The application's metrics, on the SDK's meter, so that one endpoint shows both."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from temporalio.common import MetricMeter

from fascicle.domain.gate import gate_family
from fascicle.domain.series.detection import detection_delay

POLL_OUTCOMES = ("idle", "new", "bulk", "wait", "failed")
SWEEP_OUTCOMES = ("done", "gap", "failed")
POST_OUTCOMES = ("published", "failed", "unconfirmed", "retried")
ENRICH_OUTCOMES = ("done", "partial", "failed")
REQUEST_OUTCOMES = ("succeeded", "failed", "cancelled")
# For AO3; other fic sites appear with their first fic.
FIC_OUTCOMES = ("done", "nOTP", "series-done")
JOB_STATUSES = ("succeeded", "retried", "failed", "cancelled", "crashed")
NOTIFICATION_OUTCOMES = ("created", "digest", "sent", "retried", "failed", "unconfirmed")

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_QUEUE_WAITS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR)
# For measurements that the SDK's own buckets do not fit: they end too early or begin too late.
BUCKETS: Mapping[str, Sequence[float]] = {
    "fascicle_job_duration_seconds": (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600),
    "fascicle_detection_delay_seconds": (
        *(5, 15, 30, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE),
        *(_HOUR, 2 * _HOUR, 4 * _HOUR, 8 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY),
    ),
    "fascicle_gate_wait_seconds": (0, 0.1, 0.5, 1, 2.5, 5, 10, 30, _MINUTE, 300, 900, _HOUR, 4 * _HOUR, _DAY),
    "temporal_activity_schedule_to_start_latency": _QUEUE_WAITS,
    "temporal_workflow_task_schedule_to_start_latency": _QUEUE_WAITS,
}


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Metrics:
    """Our counters. They use the runtime's meter, because an activity's meter adds labels of the SDK."""

    def __init__(self, meter: MetricMeter, clock: Callable[[], datetime] = _utc_now) -> None:
        self._clock = clock
        self._polls = meter.create_counter("fascicle_polls", "Polls by site and outcome")
        self._sweeps = meter.create_counter("fascicle_sweeps", "Sweeps by site and outcome")
        self._chapters = meter.create_counter("fascicle_chapters_ingested", "New chapters of a source stored")
        self._notifications = meter.create_counter("fascicle_notifications", "Notifications and messages")
        self._posts = meter.create_counter("fascicle_posts", "Posts by how they ended, and attempts repeated")
        self._fics = meter.create_counter("fascicle_fics", "Fics by site and state, or error, they ended in")
        self._enriched = meter.create_counter("fascicle_items_enriched", "Items enriched, by how it went")
        self._requests = meter.create_counter("fascicle_requests", "Requests, by how they ended")
        self._jobs = meter.create_counter("fascicle_jobs", "Activities run, by kind and how they ended")
        self._duration = meter.create_histogram_timedelta(
            "fascicle_job_duration_seconds", "How long an activity ran"
        )
        self._detection = meter.create_histogram_timedelta(
            "fascicle_detection_delay_seconds", "From coming out, as the site has it, to being stored"
        )
        self._gate_waits = meter.create_histogram_timedelta(
            "fascicle_gate_wait_seconds", "Waits for a turn: slept in place, or returned as a timer"
        )
        self._gate_failures = meter.create_counter(
            "fascicle_gate_failures", "Answers that widened a gate: refused for coming too often, or failed"
        )
        self._active = meter.create_gauge("fascicle_active_jobs", "Activities running in this process")
        self.active_jobs = 0
        self._kinds: set[str] = set()

    def show_zeros(self, sites: Iterable[str]) -> None:
        """Create series before anything happens: an alert on a rate needs the zero before the one."""
        self._active.set(0)
        for site in sites:
            self._chapters.add(0, {"site": site})
            for reason in ("refused", "failed"):
                self._gate_failures.add(0, {"gate": site, "reason": reason})
            for outcome in POLL_OUTCOMES:
                self.count_poll(site, outcome, 0)
            for outcome in SWEEP_OUTCOMES:
                self.count_sweep(site, outcome, 0)
        for outcome in FIC_OUTCOMES:
            self.count_fic("ao3", outcome, 0)
        for outcome in NOTIFICATION_OUTCOMES:
            self.count_notifications(outcome, 0)
        for outcome in POST_OUTCOMES:
            self.count_posts(outcome, 0)
        for outcome in ENRICH_OUTCOMES:
            self.count_enriched(outcome, 0)
        for outcome in REQUEST_OUTCOMES:
            self.count_request(outcome, 0)

    def count_poll(self, site: str, outcome: str, count: int = 1) -> None:
        self._polls.add(count, {"site": site, "outcome": outcome})

    def count_sweep(self, site: str, outcome: str, count: int = 1) -> None:
        self._sweeps.add(count, {"site": site, "outcome": outcome})

    def count_ingested(self, site: str, chapters: int) -> None:
        self._chapters.add(chapters, {"site": site})

    def note_detection(
        self, site: str, published_at: datetime | None, followed_since: datetime | None
    ) -> None:
        """Record the delay of an instalment that was just stored and is news."""
        delay = detection_delay(published_at, followed_since=followed_since, now=self._clock())
        if delay is not None:
            self._detection.record(delay, {"site": site})

    def waited_at_gate(self, gate: str, seconds: float, how: str) -> None:
        """Labelled with the gate's family, because each host of feeds and each account has its own gate."""
        self._gate_waits.record(timedelta(seconds=seconds), {"gate": gate_family(gate), "how": how})

    def failed_at_gate(self, gate: str, *, refused: bool) -> None:
        self._gate_failures.add(1, {"gate": gate_family(gate), "reason": "refused" if refused else "failed"})

    def count_notifications(self, outcome: str, count: int = 1) -> None:
        self._notifications.add(count, {"outcome": outcome})

    def count_posts(self, outcome: str, count: int = 1) -> None:
        self._posts.add(count, {"outcome": outcome})

    def count_fic(self, site: str, outcome: str, count: int = 1) -> None:
        self._fics.add(count, {"site": site, "outcome": outcome})

    def count_enriched(self, outcome: str, count: int = 1) -> None:
        self._enriched.add(count, {"outcome": outcome})

    def count_request(self, outcome: str, count: int = 1) -> None:
        self._requests.add(count, {"outcome": outcome})

    def job_started(self) -> None:
        self.active_jobs += 1
        self._active.set(self.active_jobs)

    def job_ended(self, kind: str, status: str, seconds: float) -> None:
        self.active_jobs -= 1
        self._active.set(self.active_jobs)
        if kind not in self._kinds:
            self._kinds.add(kind)
            for possible in JOB_STATUSES:
                self._jobs.add(0, {"kind": kind, "status": possible})
        self._jobs.add(1, {"kind": kind, "status": status})
        self._duration.record(timedelta(seconds=seconds), {"kind": kind})
