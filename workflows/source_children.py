"""What a source sets going: ingest workflows for its chapters, notify workflows for what is owed."""

from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import Priority

with workflow.unsafe.imports_passed_through():
    from activities.chapter import IngestInput
    from activities.looking_after import EnrichItemInput, fairness_key
    from activities.replay import ReplayResult
    from fascicle.domain.cadence import Cadence
    from fascicle.domain.chapter import ListedChapter
    from fascicle.domain.harmless_text import for_web_ui
    from fascicle.domain.names import CODE, ingest_workflow_id
    from workflows.children import NotifyInput, start_once, tell_followers
    from workflows.enrich import start_enriching
    from workflows.source_calls import SourceCalls
    from workflows.source_state import SourceInput, SourceState


class SourceChildren:
    def __init__(self, source: SourceInput, state: SourceState, calls: SourceCalls) -> None:
        self._source = source
        self._state = state
        self._calls = calls

    async def ingest(self, chapters: Sequence[ListedChapter]) -> int:
        """Start a workflow each; how many were not running or done already."""
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
        """Have the pages behind new items looked at; the inboxes have them already."""
        for item in items:
            await start_enriching(item)

    async def tell_owed(self) -> None:
        """Start telling of everything that is owed; the rest of a very long list is left to the next run."""
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
        """By the cadence; but a person, or what the sweep saw, does not wait for all that is HOT."""
        state = self._state
        is_first = asked_for or state.asked_for or state.woken
        cadence = Cadence.HOT if is_first else state.facts.cadence
        return Priority(priority_key=cadence.priority_key, fairness_key=fairness_key(state.facts.site))

    async def _ingest_one(self, chapter: ListedChapter, *, again: bool = False) -> bool:
        source = self._source
        return await start_once(
            "IngestChapterWorkflow",
            IngestInput(
                source_id=source.source_id,
                series_id=source.series_id,
                site=source.site,
                series_title=self._state.facts.title,
                chapter=chapter,
                code=CODE,
            ),
            workflow_id=ingest_workflow_id(source.source_id, chapter.key),
            summary=for_web_ui(f"{self._state.facts.title} {chapter.best.number or chapter.key}"),
            # What has begun is finished before anything else is begun: the first messages leave early.
            priority=Priority(priority_key=1, fairness_key=fairness_key(source.site)),
            again=again,
            attributes={"Site": source.site, "SourceId": source.source_id, "SeriesId": source.series_id},
        )
