"""The application's metrics, on the SDK's meter, so that one endpoint shows both."""

from collections.abc import Iterable
from datetime import timedelta

from temporalio.common import MetricMeter

POLL_OUTCOMES = ("idle", "new", "bulk", "wait", "failed")
SWEEP_OUTCOMES = ("done", "gap", "failed")
POST_OUTCOMES = ("published", "failed", "unconfirmed", "retried")
ENRICH_OUTCOMES = ("done", "partial", "failed")
REQUEST_OUTCOMES = ("succeeded", "failed", "cancelled")
NOTIFICATION_OUTCOMES = ("created", "digest", "sent", "retried", "failed", "unconfirmed")


class Metrics:
    """Counters of what happened to whom. The runtime's meter, not an activity's: no labels of plumbing."""

    def __init__(self, meter: MetricMeter) -> None:
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
        self._active = meter.create_gauge("fascicle_active_jobs", "Activities running in this process")
        self.active_jobs = 0

    def show_zeros(self, sites: Iterable[str]) -> None:
        """Series that exist before anything happens: an alert on a rate needs the zero before the one."""
        self._active.set(0)
        for site in sites:
            self._chapters.add(0, {"site": site})
            for outcome in POLL_OUTCOMES:
                self.count_poll(site, outcome, 0)
            for outcome in SWEEP_OUTCOMES:
                self.count_sweep(site, outcome, 0)
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

    def count_notifications(self, outcome: str, count: int = 1) -> None:
        self._notifications.add(count, {"outcome": outcome})

    def count_posts(self, outcome: str, count: int = 1) -> None:
        self._posts.add(count, {"outcome": outcome})

    def count_fic(self, site: str, outcome: str) -> None:
        self._fics.add(1, {"site": site, "outcome": outcome})

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
        self._jobs.add(1, {"kind": kind, "status": status})
        self._duration.record(timedelta(seconds=seconds), {"kind": kind})
