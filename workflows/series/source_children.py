"""The child workflows that a source starts: ingest chapters, enrich items, notify followers."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from activities.operations.replay import ReplayResult
    from fascicle.domain.names import CODE
    from fascicle.domain.series.cadence import Cadence
    from fascicle.domain.series.chapter import ListedChapter
    from fascicle.jobs.feeds import EnrichItemInput, enrich_job
    from fascicle.jobs.job import fairness_key
    from fascicle.jobs.notifications import NotifyInput
    from fascicle.jobs.series import IngestInput, SourceInput, SourceState, ingest_job
    from workflows.children import start_child, tell_followers
    from workflows.series.source_calls import SourceCalls


class SourceChildren:
    def __init__(self, source: SourceInput, state: SourceState, calls: SourceCalls) -> None:
        self._source = source
        self._state = state
        self._calls = calls

    async def ingest(self, chapters: Sequence[ListedChapter]) -> int:
        """Start a workflow for each chapter. Returns how many were not running or done already."""
        started = 0
        for chapter in chapters:
            started += await self._ingest_one(chapter)
        self._state.refused_starts = self._state.refused_starts + 1 if started < len(chapters) else 0
        return started

    async def ingest_again(self, found: ReplayResult) -> int:
        for chapter in found.chapters:
            await self._ingest_one(chapter, again=True)
        if found.stored:
            await self.tell_owed()
        return found.stored + len(found.chapters)

    async def enrich(self, items: Sequence[EnrichItemInput]) -> None:
        """Start reading the pages behind new items; the items are in the inboxes already."""
        for item in items:
            await start_child(enrich_job(item), again=True)

    async def tell_owed(self) -> None:
        """Start a notify workflow for each owed chapter; the next run continues a very long list."""
        after, more = self._state.owed_after or 0, True
        while more and not workflow.info().is_continue_as_new_suggested():
            page = await self._calls.list_owed(after)
            for owed in page.chapters:
                notify = NotifyInput(
                    series_id=self._source.series_id,
                    chapter_id=owed.chapter_id,
                    label=f"{self._state.facts.title} {owed.key}",
                    delay_seconds=page.delay_seconds,
                )
                await tell_followers(notify, self.priority())
                after = owed.chapter_id
            more = page.more
        self._state.owed_after = after if more else None

    def priority(self, *, asked_for: bool = False) -> Priority:
        """The priority of the cadence; a look for a person or the sweep has the priority of HOT."""
        state = self._state
        is_first = asked_for or state.asked_for or state.woken
        cadence = Cadence.HOT if is_first else state.facts.cadence
        return Priority(priority_key=cadence.priority_key, fairness_key=fairness_key(state.facts.site))

    async def _ingest_one(self, chapter: ListedChapter, *, again: bool = False) -> bool:
        source = self._source
        ingest = IngestInput(
            source_id=source.source_id,
            series_id=source.series_id,
            site=source.site,
            series_title=self._state.facts.title,
            chapter=chapter,
            code=CODE,
        )
        return await start_child(ingest_job(ingest), again=again)
