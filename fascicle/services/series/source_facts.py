"""The facts of a source, from its row and the plan of its next poll."""

from fascicle.domain.series.breaker import Circuit
from fascicle.domain.series.cadence import Plan
from fascicle.domain.series.source_facts import SourceFacts
from fascicle.domain.urls import page_host
from fascicle.storage.series.source import Source


def facts_of(
    source: Source, plan: Plan, circuit: Circuit, failures: int, chapter_count: int | None = None
) -> SourceFacts:
    return SourceFacts(
        # For feeds the fairness key is the host, so that hosts take turns.
        site=page_host(source.site_key) if source.is_feed else source.site,
        series_id=source.series_id,
        title=source.title,
        cadence=plan.cadence,
        circuit=circuit,
        failure_count=failures,
        next_check_at=plan.next_check_at,
        reason=plan.reason,
        chapters=source.chapters if chapter_count is None else chapter_count,
    )
